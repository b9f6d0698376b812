"""The tests that are commands: linters, Maven, scripts, and contracts against real servers."""
