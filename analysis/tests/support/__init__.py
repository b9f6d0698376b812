"""Code that several tests use. Tests import from here, and never from each other."""
