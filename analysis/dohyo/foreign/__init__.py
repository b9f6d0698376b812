"""Logs that other clients wrote elsewhere (YCSB of any age, go-ycsb): how they are read, which of them belong together,
and what a table and a page can say of them. Only the command line imports it. It may import `dohyo.scenario`,
`dohyo.evidence`, `dohyo.summary`, `dohyo.tables` and `dohyo.report`.
"""
