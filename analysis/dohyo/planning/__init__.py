"""Turns a scenario into trials, and estimates their time, memory and disk space.

The package may import `dohyo.scenario`, and `dohyo.systems` and `dohyo.ansible` for the systems' needs.
"""
