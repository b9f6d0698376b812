"""A trial: its steps on the servers and clients of one system of `dohyo.systems`, with the faults of `dohyo.scenario`.
It imports only the standard library and packages that Ansible needs, because Ansible's process imports it.
"""
