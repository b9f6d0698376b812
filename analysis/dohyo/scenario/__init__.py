"""The request: a scenario's file and options, checked as a whole against the lists of properties, the systems of
`dohyo.systems` and their variables, and what is known of the hosts. Nothing here starts a program.
"""
