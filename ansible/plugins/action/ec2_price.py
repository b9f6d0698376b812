"""Ansible action plugin: runs the module of the same name within Ansible's process where it can (in_process.py)."""

import contextlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from in_process import ActionModule

# Once, for all workers; the module says so if it is missing.
with contextlib.suppress(ImportError):
    import boto3  # noqa: F401

__all__ = ["ActionModule"]
