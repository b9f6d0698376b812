"""Tests trials on attached systems: which objects they create, how these are removed, and how clients log in."""

import gzip
import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import answers
import observe
import proc
from conducting import sent
from conducting.channel import Channel, Way
from dohyo.bad_input import BadInputError
from dohyo.trial.attached_systems import all_roles, detach, secret_properties
from dohyo.trial.evidence import UNDER_WAY
from dohyo.trial.hosts import ask_attached
from dohyo.trial.world import HostError, StepError
from support.trial_hosts import FakeTrial, fake_trial


def attached(folder: Path, **variables: Any) -> FakeTrial:
    """Returns a trial on an attached system with one observed host."""
    trial = fake_trial(
        folder, 2, 1, attached={"cassandra": "10.1.0.1"}, dohyo_observed=["far"], trial_canary=False, **variables
    )
    trial.observe("far")
    return trial


def test_a_trial_on_an_attached_system_starts_nothing_and_removes_its_tables(tmp_path: Path) -> None:
    trial = attached(tmp_path)
    parts = trial.real()
    parts.prepare()
    parts.run()
    notes = [line.replace("/opt/dohyo/", "") for line in trial.notes]
    begun = notes.index("node1 node2: detach")
    # The tables of earlier trials are removed before the note for this trial is written.
    assert notes[begun - 1] == "localhost: owned absent load"
    assert notes[begun + 1].endswith("owned absent client")
    assert "far: observe begin" in notes
    assert (tmp_path / "hosts/far").is_dir()
    assert not [line for line in notes if "start cassandra" in line or "stop cassandra" in line]
    assert trial.json("conditions.json")["notes"][0].startswith("attached: ")
    assert trial.json("conditions.json")["title"].endswith(" (attached)")
    first = len(trial.calls)
    assert parts.end() == ""
    ended = [f"{call.host}: {call.verb}" for call in trial.calls[first:]]
    assert ended.index("node1: stop-all") < ended.index("node1: detach") < ended.index("far: observe end")
    assert ended[-3:] == ["node1: in_use free", "node2: in_use free", "client1: in_use free"]
    assert {"far: pull", "far: observe leave"} <= {*ended}


def test_a_place_that_could_not_be_removed_refuses_the_next_trial(tmp_path: Path) -> None:
    trial = attached(tmp_path)
    message = "no such user on node1; the trial's objects are still there. Remove them with: sh remove"
    trial.answers["node1", "detach"] = {"left": message, "kept": []}
    parts = trial.real()
    with pytest.raises(StepError, match="Remove the leftovers of earlier trials on the attached system"):
        parts.run()
    # No note was written. Otherwise, the evidence of an earlier trial would be attributed to this one.
    assert not (tmp_path / UNDER_WAY).exists()
    # At the end of a trial, leftovers cause only a warning, and the trial counts.
    assert parts.end() == ""
    assert {"event": "note", "text": f"WARNING: {message}"} in trial.events


def test_the_profile_of_servers_of_others_is_not_compared(tmp_path: Path) -> None:
    trial = attached(tmp_path, conditions={"profile": "tuned", "replication": 1})
    parts = trial.real()
    parts.servers.configure()
    parts.make_tables()
    assert trial.json("conditions.json")["differences"] == []


@pytest.mark.parametrize("fails", [False, True])
def test_connection_files_of_doctor_are_removed(fails: bool, tmp_path: Path) -> None:
    trial = attached(tmp_path, doctor_systems=["cassandra"], doctor_results=str(tmp_path))
    trial.answers["doctor"] = HostError("no such host") if fails else {"product": "Cassandra 5"}
    with pytest.raises(StepError, match="Examine the attached system: no such host") if fails else nullcontext():
        ask_attached(trial.world)
    assert trial.calls[-1].arguments == {"home": "/opt/dohyo", "roles": all_roles(), "host": "node2"}
    assert fails or trial.json("cassandra.json") == {"product": "Cassandra 5"}


def left_on(home: Path, role: str, script: str) -> Path:
    """Writes the files that a trial on an attached system leaves on a host."""
    folder = home / "attached" / role
    folder.mkdir(parents=True)
    for name, text in {"remove": script, "connection.properties": "a=b\n", "made": ""}.items():
        (folder / name).write_text(text)
    return folder


def detached(home: Path, *roles: str) -> str:
    message: str = answers.perform("detach", {"home": str(home), "roles": roles, "host": "node1"})["left"]
    return message


def test_what_removes_a_place_is_run_and_then_removed(tmp_path: Path) -> None:
    well = left_on(tmp_path, "mysql", "echo removed\n")
    folder = left_on(tmp_path, "hbase", "echo no way; exit 3\n")
    message = f"no way on node1; the trial's objects are still there. Remove them with: sh {folder}/remove"
    assert detached(tmp_path, "mysql", "cassandra", "hbase") == message
    assert not well.exists()
    assert len([*folder.iterdir()]) == 3


def test_foreign_files_of_an_attached_folder_stay(tmp_path: Path) -> None:
    folder = left_on(tmp_path, "mysql", "exit 0\n")
    (folder / "theirs").touch()
    assert detached(tmp_path, "mysql") == ""
    assert [path.name for path in folder.iterdir()] == ["theirs"]


@pytest.mark.parametrize("linked", ["attached", "attached/mysql", "attached/mysql/remove"])
def test_a_link_is_not_followed(linked: str, tmp_path: Path) -> None:
    folder = left_on(tmp_path, "mysql", f"touch {tmp_path}/was-run\n")
    path = tmp_path / linked
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert detached(tmp_path, "mysql") == ""
    assert not (tmp_path / "was-run").exists()
    assert (folder / "remove").exists()


def test_detach_returns_the_messages_about_remaining_objects(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    assert detach(trial.world, ["node1"], ["mysql", "hbase"]) == {}
    assert trial.calls[0].arguments == {"home": "/opt/dohyo", "roles": ["mysql", "hbase"], "host": "node1"}
    for answer in ({"left": "no way", "kept": []}, HostError("no way")):
        trial.answers["detach"] = answer
        assert detach(trial.world, ["node1"], ["mysql"]) == {"node1": "no way"}


def test_what_the_servers_keep_is_said(tmp_path: Path) -> None:
    for role, output in {"cassandra": '{"removed": true, "left": "snapshots"}', "hbase": '{"removed": false}'}.items():
        left_on(tmp_path, role, f"echo '{output}'\n")
    trial = fake_trial(tmp_path)
    arguments = {"home": str(tmp_path), "roles": ["cassandra", "hbase"], "host": "node1"}
    trial.answers["detach"] = answers.perform("detach", arguments)
    assert detach(trial.world, ["node1"], all_roles()) == {}
    assert trial.events == [{"event": "note", "text": "cassandra keeps snapshots"}]


def test_a_host_that_is_observed_has_one_sampler_and_keeps_nothing(tmp_path: Path) -> None:
    """The sampler is part of the agent, but runs until it is stopped, even after the agent has ended."""

    def observe(state: str) -> Path:
        host = Channel(Way(["/bin/sh", "-c", sent.command("python3")], {"HOME": str(tmp_path)}))
        try:
            arguments = {"state": state, "deployment": "abc", "seconds": 60, "controller": "1 2 elsewhere"}
            return Path(host.ask("observe", arguments)["samples"])
        finally:
            host.close()

    def running(pid: Path) -> bool:
        return bool(proc.is_alive(*(proc.read_pid(pid) or (0, None))))

    samples = observe("begin")
    folder, pid = samples.parent, samples.with_name("pid")
    assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
    first = Path(shutil.copy(pid, tmp_path / "first"))
    assert running(first)
    observe("begin")
    assert (running(first), running(pid)) == (False, True)
    assert observe("end") == samples
    assert not running(pid)
    assert b'"cpus"' in gzip.decompress(samples.read_bytes())
    (folder / "theirs").touch()
    (folder / "sampler.py.7.new").touch()  # from an agent that was killed, or a full disk
    observe("leave")
    assert [path.name for path in folder.iterdir()] == ["theirs"]


def test_a_sampler_without_a_pid_file_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, nothing could end the sampler of an agent that was killed while it started one."""

    sampler = 0

    def killed(_file: str, pid: int) -> None:
        nonlocal sampler
        sampler = pid
        raise KeyboardInterrupt

    monkeypatch.setattr(proc, "write_pid", killed)
    with pytest.raises(KeyboardInterrupt):
        observe.begin(str(tmp_path), 60, "1 2 elsewhere")
    assert proc.waited(lambda: proc.start_time(sampler) is None, 5)


def test_secrets_of_an_attached_system_are_texts_and_certificates_are_taken_in(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("AUTHORITY")
    file = tmp_path / "secrets.yml"
    file.touch(0o600)
    secrets = {"mysql-innodb": {"mysql.password": 5, "mysql.tls": True, "mysql.tls.ca": str(tmp_path / "ca.pem")}}
    properties = secret_properties(json.dumps(secrets), str(file), "mysql-innodb")
    assert properties == {"mysql.password": "5", "mysql.tls": "true", "mysql.tls.ca": "QVVUSE9SSVRZ"}
    assert secret_properties("", str(file), "mysql-innodb") == {}
    assert secret_properties(json.dumps(secrets), str(file), "hbase") == {}


@pytest.mark.parametrize("text", ["password: [s3cret", "[s3cret]", "mysql-innodb: s3cret"])
def test_a_file_of_secrets_in_another_form_is_refused_without_a_word_of_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "secrets.yml"
    file.touch(0o600)
    with pytest.raises(BadInputError, match=r"must be YAML; docs/attach\.md") as refused:
        secret_properties(text, str(file), "mysql-innodb")
    assert "s3cret" not in str(refused.value)


def test_a_file_of_secrets_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secrets.yml"
    file.touch()
    file.chmod(0o640)
    with pytest.raises(BadInputError, match="other users may read it; run: chmod 600"):
        secret_properties("", str(file), "mysql-innodb")
    with pytest.raises(BadInputError, match="No such file"):
        secret_properties("", str(tmp_path / "none"), "mysql-innodb")
