"""Conducts the clients of one load or run from the controller; docs/clients.md describes it.

clock      offset of a host's clock from the controller's
conductor  decides when to do what, without processes or files
report     makes the result and the messages for the user
agents     the connections to the hosts' agents
"""
