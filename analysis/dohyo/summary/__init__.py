"""Turns evidence into the summary: decides which runs count, merges and compares them, and chooses the next rate of a
search for the highest rate. Imports `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`, and does not format output.
"""
