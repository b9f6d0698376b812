"""From a scenario to its trials, and what these take of the hosts: time, memory, disk. It may import `dohyo.scenario`,
and `dohyo.ansible` to ask the systems' descriptions.
"""
