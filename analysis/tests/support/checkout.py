"""Lists files of the checkout, and loads its benchmarks as modules."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from dohyo.places import ROOT


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [file for name in listed.stdout.split() if (file := ROOT / name).is_file()]


def benchmark(name: str) -> ModuleType:
    """Loads benchmarks/NAME.py. The folder contains a module `coverage`, so it must not be on the search path."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"benchmarks/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
