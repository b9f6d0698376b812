"""Writes reports: a page of charts and tables for each experiment, the charts as files, and an index of experiments.
Imports `dohyo.scenario`, `dohyo.evidence`, `dohyo.summary` and `dohyo.tables`.
"""
