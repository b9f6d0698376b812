"""Runs a trial of one system: its steps on the servers and clients, including the faults that the scenario requests.
It imports only the standard library and packages that Ansible needs, because Ansible's process imports it.
"""
