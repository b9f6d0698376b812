"""Runs a trial: its steps on the servers and clients of a system (`dohyo.systems`), with faults (`dohyo.scenario`).
It imports only the standard library and packages that Ansible needs, because Ansible's process imports it.
"""
