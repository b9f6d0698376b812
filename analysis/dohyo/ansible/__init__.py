"""Ansible, the only thing that touches a host: playing playbooks, reading inventories, asking which systems can be
had. It may import `dohyo.scenario`.
"""
