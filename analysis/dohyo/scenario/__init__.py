"""The request: a scenario's file and options, checked as a whole against the lists of properties, systems and their
variables, and against what is known of the hosts. Nothing here starts a program. It imports only the modules beside the
packages.
"""
