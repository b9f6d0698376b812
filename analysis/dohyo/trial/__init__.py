"""A trial: what is done to the servers and clients of one system of `dohyo.systems`, host by host, with the faults of
`dohyo.scenario`. It needs nothing but the standard library and what Ansible brings: Ansible's process imports it.
"""
