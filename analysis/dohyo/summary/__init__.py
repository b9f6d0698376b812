"""Turns evidence into the summary: which runs count, their sums and comparisons, and the next rate of a search for the
highest rate. It may import `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`, and does not format summaries.
"""
