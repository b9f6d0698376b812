"""The report: one page of charts and tables per experiment, the same charts as files, and an index of many experiments.
It may import `dohyo.scenario`, `dohyo.evidence`, `dohyo.summary` and `dohyo.tables`.
"""
