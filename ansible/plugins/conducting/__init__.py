"""Conducting the clients of one load or run from the controller; docs/clients.md describes it.

clock      how far a host's clock is from the controller's
conductor  what to do when: decisions alone, no processes and no files
report     what is written down and said in the end
agents     the connections to the hosts' agents
"""
