"""Runs experiments: an experiment's folder, its trials one after another, the progress display. Compares two
experiments. No other package imports this one. It may import `dohyo.systems`, `dohyo.scenario`,
`dohyo.ansible`, `dohyo.planning`, `dohyo.evidence`, `dohyo.summary`, `dohyo.tables`, `dohyo.report` and
`dohyo.trial`.
"""
