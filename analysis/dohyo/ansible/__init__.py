"""Accesses the hosts with Ansible: runs playbooks, reads inventories and finds out which systems are available. It may
import `dohyo.systems` and `dohyo.scenario`.
"""
