"""Ansible, the only thing that touches a host: playing playbooks, reading inventories, finding out which systems are
available. It may import `dohyo.systems` and `dohyo.scenario`.
"""
