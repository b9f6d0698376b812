"""Systems under test: the base classes of ansible/systems/NAME/system.py, their options, and the catalogue.

The package imports only the modules directly in ``dohyo``.
"""
