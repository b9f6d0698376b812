"""Reads logs that other clients wrote elsewhere (YCSB of any age, go-ycsb), groups them, and shows a table and a page.
Only the command line imports this package. It may import `dohyo.scenario`, `dohyo.evidence`, `dohyo.summary`,
`dohyo.tables` and `dohyo.report`.
"""
