"""Contains the code that several tests share. Tests import it from here, and never from each other."""
