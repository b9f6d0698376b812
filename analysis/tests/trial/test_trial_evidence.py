"""Tests the evidence of a trial: its folder, the samples of the hosts, and the conditions."""

from pathlib import Path

from dohyo.trial.conditions import by_sentence
from support.trial_hosts import fake_trial


def test_the_folder_is_marked_and_emptied_before_anything_is_written(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_phases=[{"name": "max"}, {"name": "own"}], trial_discard=1)
    evidence = trial.real().evidence
    evidence.begin("cassandra")
    mark, clear = (call.arguments for call in trial.calls)
    assert {call.host for call in trial.calls} == {"localhost"}
    assert (mark["state"], mark["kind"], mark["folders"]) == ("present", "evidence", [[str(tmp_path), ""]])
    assert mark["beside"] == ["trial.json", "state.json", "ansible.log", "events.jsonl"]
    assert clear["home"] == str(tmp_path)
    # Names that the trial itself creates. dohyo wrote the other files in the folder.
    assert {*clear["inside"]} == {
        *("load", "load-server", "server", "hosts", "canary.json", "conditions.json", "settled.json", "kept.json"),
        *("counted.json", "probe-[0-9]*", "precondition-[0-9]*", "max-[0-9]*", "own-[0-9]*"),
    }
    assert evidence.is_ours
    assert trial.json("state.json") == {"status": "running", "reason": None}
    assert trial.json("trial.json")["trial_phases"] == [{"name": "max"}, {"name": "own"}]
    assert trial.json("trial.json")["trial_discard"] == 1


def test_what_figures_and_logs_mean_is_kept_with_them(tmp_path: Path) -> None:
    for system, role, files in [
        ("cassandra", "cassandra", {"figures.yml", "log.yml", "healing.yml"}),
        ("mysql-innodb", "mysql", {"figures.yml", "healing.yml"}),
    ]:
        folder = tmp_path / system
        fake_trial(folder, system=system).real().evidence.begin(role)
        assert {file.name for file in (folder / "server").iterdir()} == files


def test_samplers_know_the_controller_and_the_servers_of_others(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 1, 1)
    trial.real().evidence.begin_samples("10.1.0.1")
    assert [call.argv[3:] for call in trial.calls] == [
        [f"/opt/dohyo/client/hosts/{name}", "/opt/dohyo/bin/agent", "start", "host-metrics",
         f"/opt/dohyo/client/hosts/{name}", "metrics.jsonl.gz", "host-metrics.log",
         "/opt/dohyo/bin/agent", "sample", "86400", "1 2 m", "10.1.0.1"]
        for name in ("node1", "client1")
    ]  # fmt: skip


def test_equal_sentences_of_several_hosts_are_one() -> None:
    hosts = [f"h{number}" for number in range(6)]
    sentences = {**{name: ["swap is on"] for name in hosts}, "h1": ["old kernel", "swap is on"]}
    assert by_sentence(sentences) == ["h0, h1, h2 and 3 more: swap is on", "h1: old kernel"]
    assert by_sentence({"a": []}) == []
