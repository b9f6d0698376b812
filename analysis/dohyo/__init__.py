"""Dohyo: equal conditions for NoSQL databases, and an honest table at the end.

The packages, in the order of the data. Each imports only those above it; its own docstring lists them:

- systems: the systems under test: their classes, and the options that users set
- scenario: the request, checked: the scenario's file, properties, phases, hosts
- trial: what a trial does on its hosts; Ansible's process runs it
- ansible: the only thing that touches a host: playbooks, inventories, which systems are available
- planning: the trials of a scenario, their variables, and what they need of the hosts
- evidence: reading the evidence of a trial in `raw`: logs, histograms, statistics of the servers
- summary: the results: valid or not, rows, conditions, the knee
- facts: the evidence as a database of SQLite, for questions of a user's own
- tables: a summary as text
- report: a summary as a page with charts, the same as files, the index of all experiments
- foreign: logs that other clients wrote elsewhere, from reading them to their page; only `cli` imports it
- running: the main job, which uses all of them

Beside them: `cli` (the command `dohyo`, where reading begins), and what every package may import: `places`, `host` (the
control machine), `bad_input`, `signals`, `plain_text` (text from outside), `folders` (reading and writing only inside
of them), `owned` (deleting), `output` (standard output and standard error), `terminal` (what is printed), `console`
(rich's, with text from outside), `figures` (numbers in words), `metrics` (what a number is), `sizes` (in bytes),
`operations` (YCSB's operation types), `statistics` (how exactly a mean is known).
"""
