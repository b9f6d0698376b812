"""From the evidence to the summary: which runs count, their sums and comparisons, and the next rate of a search for the
highest rate. It may import `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`, and knows nothing of how a summary
looks.
"""
