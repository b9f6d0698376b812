"""Runs a trial: its steps on servers and clients of one system of `dohyo.systems`, with faults of `dohyo.scenario`.
It imports only the standard library and packages that Ansible needs, because Ansible's process imports it.
"""
