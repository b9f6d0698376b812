"""From a scenario to its trials, and the time, memory and disk that they need. It may import `dohyo.scenario`, and
`dohyo.systems` and `dohyo.ansible` to ask the systems' classes.
"""
