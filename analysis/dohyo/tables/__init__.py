"""A summary as people read it: the screen with its verdict, all details in the terminal and in Markdown, and the files
beside the evidence. It may import `dohyo.summary`, `dohyo.evidence` and `dohyo.scenario`.
"""
