"""Logs that other clients wrote elsewhere (YCSB of any age, go-ycsb): reading them, finding which belong together, and
showing them as a table and a page. Only the command line imports it. It may import `dohyo.scenario`, `dohyo.evidence`,
`dohyo.summary`, `dohyo.tables` and `dohyo.report`.
"""
