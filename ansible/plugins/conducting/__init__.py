"""Controls the clients of one load or run from the controller; docs/clients.md describes the protocol.

clock      computes the offset of a host's clock from the controller's
conductor  decides which messages to send and when; uses no processes or files
report     creates the result and the messages for the user
agents     connects to the hosts' agents
"""
