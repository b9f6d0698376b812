"""Starts and resumes a run with names, values and a server's response that templates or shells could execute.

Both runs succeed, nothing is executed, and the evidence contains the original texts.
"""

import json
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from dohyo.places import ANSIBLE, LOCAL_HOME, ROOT
from e2e import runs

NAME = "{{ 7*7 }} {% if 1 %}x{% endif %} $(touch MARKER) `touch MARKER`; 'a' \"b\" \\1 %s ö,"
LOOKUP = '{{ lookup("pipe", "touch MARKER; echo x") }}'
SETTINGS = {
    "connect_timeout": 11,
    "init_connect": f"SELECT 1 /* {LOOKUP} $(touch MARKER) `touch MARKER` %s $HOME */",
    # The server reports this version.
    "version": "11.4.5-{{ 7*7 }}-MariaDB",
}
SCENARIO = f"""
recordcount=2000
readproportion=0.5
updateproportion=0.5
systems=mysql-innodb
rounds=1
duration=2s
mysql_run_as=nobody {NAME.partition(";")[0]}
mysql_settings={json.dumps(SETTINGS)}
hbase.x={LOOKUP}
""" + "".join(f"{name}={value}\n" for name, value in runs.SETTINGS.items())


def run(command: str) -> None:
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_names_values_and_answers_are_data(tmp_path: Path) -> None:
    scenario = tmp_path / f"{NAME}.properties"
    # In property files, a backslash is an escape character, as in Java.
    scenario.write_text(SCENARIO.replace("\\", "\\\\"))
    inventory = Path(shutil.copytree(ANSIBLE / "inventories/local", tmp_path / f"inventory {NAME}"))
    out = tmp_path / f"out {NAME}"
    trial = out / "raw/01-mysql-innodb"

    def check() -> None:
        about = json.loads((out / "experiment.json").read_text())
        assert (about["status"], about["scenario"], about["inventory"]) == ("done", NAME, str(inventory))
        request = json.loads((trial / "trial.json").read_text())
        assert request["trial_dir"] == str(trial)
        assert request["trial_properties"]["hbase.x"] == LOOKUP
        assert request["mysql_settings"] == SETTINGS
        (host,) = (folder.name for folder in (trial / "server").iterdir() if folder.is_dir())
        quoted = json.dumps(SETTINGS["init_connect"])
        assert f"init_connect = {quoted}\n" in (trial / f"server/{host}/conf/my.cnf").read_text()
        client = (trial / f"run-1/{host}/client.properties").read_text().splitlines()
        assert f"hbase.x={LOOKUP}" in client
        assert "11.4.5-{{ 7*7 }}" in json.loads((trial / "conditions.json").read_text())["version"]
        assert json.loads((trial / f"run-1/{host}/client.json").read_text())["valid"]
        assert not [
            *tmp_path.rglob("MARKER"),
            *ROOT.glob("MARKER"),
            *ANSIBLE.glob("MARKER"),
            *LOCAL_HOME.rglob("MARKER"),
        ]

    first = runs.Run(out, str(scenario), "--inventory", str(inventory), "--out", str(out))
    first.until("start", "01-mysql-innodb")
    first.signal(signal.SIGTERM)
    assert first.end() == 128 + signal.SIGTERM
    interrupted = first.trials()["mysql-innodb"]
    assert interrupted["status"] == "interrupted"
    assert "SIGTERM" in interrupted["reason"]
    assert interrupted["reason"] in " ".join(first.text.split())

    # Change the trial's variables, as another user could. The resumed run must not use them.
    (trial / "trial.json").write_text(
        json.dumps({"trial_system": LOOKUP, "trial_python": "touch MARKER", "trial_dir": LOOKUP})
    )
    run(f"./run.sh --resume {shlex.quote(str(out))}")
    check()
    assert [folder.name for folder in (out / "attempts").iterdir()] == ["01-mysql-innodb.1"]
