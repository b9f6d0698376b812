"""A trial: what is done to the servers and clients of one system, host by host.

It needs nothing but the standard library and what Ansible brings: Ansible's process imports it.
"""
