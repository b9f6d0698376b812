"""Accesses the hosts with Ansible: plays playbooks, reads inventories and finds out which systems are available. It may
import `dohyo.systems` and `dohyo.scenario`.
"""
