"""A summary as people read it: tables in the terminal and in Markdown, and the files beside the evidence. It may
import `dohyo.summary`, `dohyo.evidence` and `dohyo.scenario`.
"""
