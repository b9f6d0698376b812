"""Reads a trial's folder in `results/<id>/raw`: the logs of clients and servers and the conductor's records, in forms
that can be added up. The package `summary` decides which of them count. This package may import `dohyo.scenario`.
"""
