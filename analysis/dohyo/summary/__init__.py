"""From the evidence to the summary: which runs count, what they come to, and what a search for the highest rate tries
next. It may import `dohyo.evidence` and `dohyo.scenario`; how a summary looks is not its business.
"""
