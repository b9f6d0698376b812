"""Dohyo compares NoSQL databases under equal conditions.

Its packages are as follows. A package imports only packages above it; its docstring lists them:

- systems: the classes of the systems under test, and the options that users set
- scenario: the checked request, with the scenario's file, properties, phases and hosts
- trial: the steps of a trial on its hosts; Ansible's process runs them
- ansible: the only access to hosts, with playbooks, inventories and available systems
- planning: the trials of a scenario, their variables, and the resources that they need
- evidence: readers of a trial's evidence in `raw`, such as logs, histograms and statistics of servers
- summary: the results, with their validity, rows, conditions and the knee
- facts: the evidence as a SQLite database, for queries that users write
- tables: a summary as text
- report: a summary as a page with charts, the charts as files, the index of all experiments
- foreign: a reader, a table and a page for logs of other clients; only `cli` imports this package
- running: runs experiments; uses all other packages

The module `cli` is the command `dohyo`; start reading there. Every package may import the other modules: `places`
(paths), `host` (the control machine), `bad_input`, `signals`, `plain_text` (untrusted text), `folders` (safe reading
and writing in untrusted folders), `claimed_folders` (deletes files), `output` (standard output and standard error),
`terminal` (printing), `console` (rich's console, safe for untrusted text); `figures` (formats numbers), `metrics`
(defines the numbers of the results), `sizes` (parses sizes), `operations` (YCSB's operation types), `statistics`
(intervals).
"""
