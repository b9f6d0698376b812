"""Creates experiments for the report's page and its charts."""

from pathlib import Path
from typing import Any

from dohyo.report import page
from dohyo.report.chart_data import read
from dohyo.report.grammar import Chart
from dohyo.summary.results import Summary
from support.evidence import edit_json, trial, write_json

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{7*7}}"


def two_systems(experiment: Path, **settings: Any) -> Path:
    trial(experiment, 1, "cassandra", **settings)
    trial(experiment, 2, "hbase", **settings)
    return experiment


def by_name(drawn: list[Chart]) -> dict[str, Chart]:
    return {chart.name: chart for chart in drawn}


def of(experiment: Path) -> dict[str, Chart]:
    return by_name(page.gather(experiment, read(experiment)).charts)


def read_page(experiment: Path) -> tuple[Summary, str]:
    """Returns the summary and the HTML of the page of an experiment."""
    material = read(experiment)
    return material.summary, page.html(page.gather(experiment, material))


def csv(text: str) -> str:
    return text.replace('"', '""')


def hostile(experiment: Path) -> Path:
    """Creates an experiment in which each foreign text would be a script in the page if it were not escaped."""
    two_systems(experiment, trial_point={"variant": HOSTILE.replace("/", "\\")})
    for folder in sorted((experiment / "raw").iterdir()):
        edit_json(folder / "conditions.json", version=HOSTILE, notes=[HOSTILE], title=HOSTILE)
        (folder / "run-1/node1/READ.hdr").open("a").write(f"{HOSTILE}\n")
    # The name of a folder cannot contain a slash.
    path = trial(experiment, 4, "cassandra", hosts=(HOSTILE.replace("/", "\\"), "node1"), trial_point={"variant": "x"})
    edit_json(path / "trial.json", trial_system=HOSTILE, trial_name=HOSTILE)
    edit_json(path / "conditions.json", durability=HOSTILE)
    (experiment / "hosts.csv").write_text(
        "system,point,round,phase,run,host,time,seconds,device,cpu_idle,cpu_iowait,disk_utilisation\n"
        f'"{csv(HOSTILE)}",variant=x,1,run,1,"{csv(HOSTILE)}",2.0,1.0,,0.25,0.05,0.5\n'
    )
    broken = trial(experiment, 3, "cassandra", trial_point={"variant": "failed"})
    write_json(broken / "state.json", {"status": "failed", "reason": HOSTILE})
    write_json(experiment / "experiment.json", {"scenario": HOSTILE, "started": HOSTILE, "host": {"name": HOSTILE}})
    return experiment


def of_four(experiment: Path) -> Path:
    for number, (system, batch) in enumerate([(s, b) for s in ("cassandra", "hbase") for b in ("1", "100")], 1):
        trial(experiment, number, system, trial_point={"batchsize": batch})
    return experiment
