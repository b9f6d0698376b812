"""Runs experiments: creates the folder, runs the trials and displays the progress. Compares two experiments. No other
package imports this one. It may import `dohyo.systems`, `dohyo.scenario`, `dohyo.ansible`, `dohyo.planning`,
`dohyo.evidence`, `dohyo.summary`, `dohyo.tables`, `dohyo.report` and `dohyo.trial`.
"""
