"""Writes the evidence of experiments to the tables of a SQLite database, one row per fact. The package may import
`dohyo.scenario`, `dohyo.evidence` and `dohyo.summary`.
"""
