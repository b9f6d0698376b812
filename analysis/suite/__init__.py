"""Tests that run commands: linters, Maven, scripts, and contracts against real servers."""
