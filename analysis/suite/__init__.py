"""Contains the tests that run commands: linters, Maven, scripts, and contracts against real servers."""
