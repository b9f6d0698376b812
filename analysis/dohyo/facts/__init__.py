"""Facts: the evidence of experiments as tables of a SQLite database, one row per fact. It may import `dohyo.scenario`,
`dohyo.evidence` and `dohyo.summary`.
"""
