"""Ansible action plugin: runs the module of the same name within Ansible's process where it can (in_process.py)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from in_process import ActionModule

__all__ = ["ActionModule"]
