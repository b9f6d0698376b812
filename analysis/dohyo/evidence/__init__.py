"""Reads a trial's folder in `results/<id>/raw`: the logs of clients and servers and the conductor's records, in forms
that can be added up. Another package, summary, judges which count. It may import `dohyo.scenario`.
"""
