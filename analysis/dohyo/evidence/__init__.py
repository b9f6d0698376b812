"""Reads a trial's folder in `results/<id>/raw`: logs of clients and servers, and the conductor's records. The results
can be added up; the package `summary` decides which ones count. May import `dohyo.scenario`.
"""
