"""Dohyo: equal conditions for NoSQL databases, and an honest table at the end.

The packages, in the order of the data. Each imports only packages above it; its docstring lists them:

- systems: the systems under test: their classes, and the options that users set
- scenario: the request, checked: the scenario's file, properties, phases, hosts
- trial: the steps of a trial on its hosts; Ansible's process runs them
- ansible: the only access to hosts: playbooks, inventories, which systems are available
- planning: the trials of a scenario, their variables, and the resources that they need
- evidence: reading the evidence of a trial in `raw`: logs, histograms, statistics of the servers
- summary: the results: valid or not, rows, conditions, the knee
- facts: the evidence as a database of SQLite, for questions of a user's own
- tables: a summary as text
- report: a summary as a page with charts, the charts as files, the index of all experiments
- foreign: logs that other clients wrote elsewhere, from reading them to their page; only `cli` imports it
- running: running experiments, with all other packages

Besides, there is `cli` (the command `dohyo`, a good start for readers). Every package may import the other modules:
`places`, `host` (the control machine), `bad_input`, `signals`, `plain_text` (untrusted text), `folders` (reading and
writing only inside of them), `owned` (deleting), `output` (standard output and standard error), `terminal` (printing),
`console` (rich's, with untrusted text); `figures` (formatting of numbers), `metrics` (definitions of numbers), `sizes`
(in bytes), `operations` (YCSB's operation types), `statistics` (confidence intervals).
"""
