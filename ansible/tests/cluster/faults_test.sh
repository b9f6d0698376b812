#!/usr/bin/env bash
# An experiment with Cassandra on four hosts, with a password and TLS, in which a host is cut off for a while and in the end a
# server is killed: both are seen at the right second, and the run does not count. Needs root and about four minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed
deployed cassandra

experiment disturbed cassandra --set replication=3 --set write_acks=all --duration 35 --set operationtimeout=2000 \
    --set maxerrorrate=1 --set cassandra_authentication=true --set cassandra_tls=true &
run=$!
measuring disturbed "$run" 'host*'
sleep 4
cut=$(date +%s.%N)
testbed partition 4
sleep 6
testbed heal
healed=$(date +%s.%N)
sleep 9
killed=$(date +%s.%N)
testbed ssh 4 sudo systemctl kill --kill-whom=main --signal=KILL "'dohyo-*-cassandra.service'"
code=0
wait "$run" || code=$?
((code == 1)) || { cat "$work/disturbed.log" >&2; fail "run.sh ended with $code instead of 1 although a server was killed"; }
evidence=$(echo "$work"/disturbed/raw/*)
CUT=$cut HEALED=$healed KILLED=$killed CLIENTS=$evidence/run-1/clients.json look disturbed <<'END'
import os
assert trial["status"] == "invalid", trial
assert "host4" in trial["reason"] and "137" in trial["reason"], trial["reason"]
agreed = json.load(open(os.environ["CLIENTS"]))["agreed"]
cut, healed, second = [float(os.environ[name]) - agreed for name in ("CUT", "HEALED", "KILLED")]
events = trial["events"]
[ended] = [event for event in events if event["host"] == "host4" and "exit code 137" in event["what"]]
assert abs(ended["at"] - second) < 2, (second, events)
# An operation that waits for the dead server has failed two seconds later.
errors = [event for event in events if "failed operations" in event["what"]]
assert any(second - 1 < event["at"] < second + 5 for event in errors), (second, events)
dips = [event for event in events if "below half" in event["what"]]
assert any(second - 2 < event["at"] < second + 4 for event in dips), (second, events)
# Throughput came back after the partition.
assert any(cut - 2 < event["at"] < healed and event["until"] < second for event in dips), (cut, healed, second, events)
END
condition notes '*users have passwords*TLS to clients*TLS among nodes*'
no_secrets
nothing_runs
ok 'a partition that heals is a dip, a killed server its errors and a dip at the right second; the run is invalid'
