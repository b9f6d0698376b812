"""Runs ./run.sh with search=max on a real server: the probes follow the runs and leave the same evidence."""

import json
import subprocess
from pathlib import Path

import pytest

from dohyo.places import ROOT
from e2e.runs import options


def test_the_highest_rate_under_a_bound_is_searched_for_after_the_runs(tmp_path: Path) -> None:
    assignments = ("search=max", "slo=p50<60s", "search.probes=2", "search.duration=2s", "settle=phases")
    out = tmp_path / "out"
    run = subprocess.run(
        [ROOT / "run.sh", "workloadB", "--systems=mysql-innodb", "--records=2000", *options(target=None),
         f"--out={out}", "--details", *(f"--set={assignment}" for assignment in assignments)],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    print(run.stdout, run.stderr)
    (trial,) = json.loads((out / "summary.json").read_text())["trials"]
    assert trial["status"] == "ok", trial["reason"]
    # The search may find no rate while other processes are busy.
    assert run.returncode == (0 if any(probe["held"] for probe in trial["search"]["probes"]) else 1)
    rates = [row["ops_per_second"] for row in trial["rows"] if (row["phase"], row["operation"]) == ("run", "OVERALL")]
    search = trial["search"]
    assert [search["closed_loop"]] == rates
    assert search["probes"][0]["target"] == pytest.approx(rates[0], rel=1e-3)
    assert [probe["number"] for probe in search["probes"]] == [1, 2]
    for probe in search["probes"]:
        assert probe["held"] in (True, False), probe["reason"]
        assert {"Intended-READ", "Intended-UPDATE"} <= {row["operation"] for row in probe["rows"]}
        folder = out / "raw/01-mysql-innodb" / f"probe-{probe['number']}"
        assert {"clients.json", "settled.json"} <= {path.name for path in folder.iterdir()}
    assert search["next_target"] is None
    assert "Maximum under SLO" in run.stdout
    assert search["conclusion"] in run.stdout
