"""`kill -9` of a run, and --resume at once: what the killed run has left works at nothing any more, and nothing stays."""

import json
import signal
from pathlib import Path

from test_run import LONG, Run, mix, nothing_stays, ours

__all__ = ["nothing_stays"]


def playbooks() -> list[int]:
    """Processes of Ansible that a killed run may have left."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            events = b"DOHYO_EVENTS=" in (process / "environ").read_bytes()
        except OSError:
            continue
        if events and b"ansible-playbook" in words:
            found.append(int(process.name))
    return found


def test_a_killed_run_is_resumed_at_once(tmp_path: Path) -> None:
    asked = ["workloadA", "--systems=mysql-innodb", *LONG]
    run = Run(tmp_path / "out", *asked)
    for phase in ("load", "run"):
        run.until(phase, "01-mysql-innodb")
        run.signal(signal.SIGKILL)
        assert run.end() == -signal.SIGKILL
        assert json.loads((run.out / "raw/01-mysql-innodb/state.json").read_text())["status"] == "running"
        scenario = run.out / "scenario.properties"
        if phase == "run":
            scenario.write_text(scenario.read_text().replace("duration=60", "duration=3"))
        run = Run(run.out, "--resume", str(run.out))
    assert run.end() == 0
    assert ours() == playbooks() == []
    assert mix(run.trials()["mysql-innodb"]) == {"READ", "UPDATE"}
    assert sorted(path.name for path in (run.out / "attempts").iterdir()) == [f"01-mysql-innodb.{n}" for n in (1, 2)]
    # Its own evidence, and only that.
    trial = run.out / "raw" / "01-mysql-innodb"
    log = (trial / "ansible.log").read_text()
    assert log.count("PLAY [Trial]") == log.count("PLAY RECAP") == 1
    assert "was killed" not in log
    events = [json.loads(line) for line in (trial / "events.jsonl").read_text().splitlines()]
    assert [event["phase"] for event in events if event["event"] == "phase"].count("load") == 1
    assert events[-1]["event"] == "end"
