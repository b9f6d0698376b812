"""Prints a summary: on one screen, with all details in the terminal or in Markdown, and to files beside the evidence.
Imports `dohyo.summary`, `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`.
"""
