"""Access to hosts with Ansible: plays playbooks, reads inventories, finds out which systems are available. It may
import `dohyo.systems` and `dohyo.scenario`.
"""
