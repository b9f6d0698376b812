"""A summary as text: the screen with its verdict, all details in the terminal and in Markdown, and the files beside the
evidence. It may import `dohyo.summary`, `dohyo.evidence`, `dohyo.scenario` and `dohyo.systems`.
"""
