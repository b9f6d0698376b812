"""Files of the checkout."""

import subprocess
from pathlib import Path

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
