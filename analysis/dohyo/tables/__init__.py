"""Prints a summary on one screen, or with all details in the terminal or in Markdown, and writes it to files.
Imports `dohyo.summary`, `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`.
"""
