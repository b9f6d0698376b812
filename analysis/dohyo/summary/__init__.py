"""Turns evidence into the summary: decides which runs count, merges and compares them, and chooses the next rate of a
search for the highest rate. Does not format output. Imports `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`.
"""
