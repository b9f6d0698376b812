"""The systems under test: the base class of what ansible/systems/NAME/system.py declares, the options that users set,
and the catalogue of all systems. It imports only the modules beside the packages.
"""
