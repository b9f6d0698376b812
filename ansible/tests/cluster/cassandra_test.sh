#!/usr/bin/env bash
# Cassandra on four hosts, replication 3, measured by clients on all of them: one experiment that is left alone; one in
# which a host is cut off for a while and in the end a server is killed. Needs root and about six minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
use_testbed

deploy_twice -e '{deploy_systems: [cassandra]}'
ok 'deployed; the second deploy.yml changes nothing'

# measure OUT SECONDS [OPTION…]: replication 3, every write acknowledged by all copies
measure() {
    "$root/run.sh" workloadA --inventory inventories/testbed --systems cassandra --out "$work/$1" \
        --set replication=3 --set write_acks=all --set read_acks=one --set recordcount=4000 --set threadcount=4 \
        --set repeats=1 --set warmuptime=5 --set "maxexecutiontime=$2" "${@:3}"
}
# look OUT: a Python script on standard input with the summary's only trial as "trial"
look() {
    "$root/.venv/bin/python" -c 'import json, sys
[trial] = json.load(open(sys.argv[1]))["trials"]
exec(sys.stdin.read())' "$work/$1/summary.json" || { cat "$work/$1.log" >&2; fail "$1: see the assertion above"; }
}

measure quiet 12 >"$work/quiet.log" 2>&1 || { cat "$work/quiet.log" >&2; fail 'run.sh on an undisturbed cluster'; }
look quiet <<'END'
found = trial["conditions"]
assert trial["status"] == "ok", trial["reason"]
assert (found["nodes"], found["replication"], found["clients"]) == (4, "3", 4), found
assert (found["write_copies"], found["read_copies"], found["consistency"]) == (3, 1, "strong"), found
hosts = ["host1", "host2", "host3", "host4"]
reads = lambda rows: [row for row in rows if row["phase"] == "run" and row["operation"] == "READ"]
[total] = reads(trial["rows"])
assert [client["host"] for client in trial["clients"]] == hosts, trial["clients"]
clients = [row for client in trial["clients"] for row in reads(client["rows"])]
assert len(clients) == 4 and sum(row["operations"] for row in clients) == total["operations"], (clients, total)
assert total["p99_ms"] and all(row["p99_ms"] for row in clients), clients
assert [(node["host"], node["state"]) for node in trial["nodes"]] == [(host, "ran") for host in hosts], trial["nodes"]
assert all(node["cpu_seconds"] > 0 and node["memory_mb"] > 100 for node in trial["nodes"]), trial["nodes"]
END
nothing_runs
ok 'workloadA from four synchronized clients: rows of clients, nodes and the whole'

# The second one: nobody knows when its measured window begins before its first histograms come home.
measure disturbed 45 --set maxerrorrate=1 >"$work/disturbed.log" 2>&1 &
run=$!
until compgen -G "$work/disturbed/raw/*/run-1/host*/*.hdr" >"$work/logs"; do
    kill -0 "$run" 2>/dev/null || { cat "$work/disturbed.log" >&2; fail 'run.sh ended before it measured'; }
    sleep 0.2
done
sleep 5
testbed partition 4
sleep 7
testbed heal
sleep 12
killed=$(date +%s.%N)
testbed ssh 4 sudo systemctl kill --kill-whom=main --signal=KILL dohyo-cassandra
code=0
wait "$run" || code=$?
((code == 1)) || { cat "$work/disturbed.log" >&2; fail "run.sh ended with $code instead of 1 although a server was killed"; }
clients=$(echo "$work"/disturbed/raw/*/run-1/clients.json)
KILLED=$killed CLIENTS=$clients look disturbed <<'END'
import os
assert trial["status"] == "invalid", trial
assert "host4" in trial["reason"] and "cassandra" in trial["reason"], trial["reason"]
clients = json.load(open(os.environ["CLIENTS"]))
second = float(os.environ["KILLED"]) - clients["agreed"]
events = trial["events"]
ended = [event for event in events if event["host"] == "host4" and "ended" in event["what"]]
assert ended and abs(ended[0]["at"] - second) < 2, (second, events)
errors = [event for event in events if "failed operations" in event["what"]]
assert any(event["at"] - 3 < second < event["until"] for event in errors), (second, events)
dips = [event for event in events if "below half" in event["what"]]
# The partition came 24 s before and was healed: throughput was down for about its length, and came back.
assert any(second - 27 < event["at"] < second - 15 and event["until"] < second - 3 for event in dips), (second, events)
END
nothing_runs
ok 'a partition that heals shows as a dip, a killed server as an error at its second, and the run is invalid'

quietly playbook destroy.yml
for n in 1 2 3 4; do
    testbed ssh "$n" '! test -e ~/dohyo && ! ls /etc/systemd/system/dohyo-*' 2>/dev/null || fail "host$n still has our files"
done
ok 'destroy.yml leaves nothing'
