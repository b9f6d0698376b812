"""Reads a scenario from a property file and options, and checks it against the known properties, the hosts, and the
systems and variables of `dohyo.systems`.

The package starts no program.
"""
