"""Prints a summary: on one screen, in full in the terminal and in Markdown, and as files beside the evidence.
It may import `dohyo.summary`, `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`.
"""
