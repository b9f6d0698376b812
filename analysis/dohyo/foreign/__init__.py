"""Reads logs of other clients (all versions of YCSB, go-ycsb), groups them, and shows the results as a table and as a
page. Only the module `cli` imports this package. It may import `dohyo.scenario`, `dohyo.evidence`, `dohyo.summary`,
`dohyo.tables` and `dohyo.report`.
"""
