#!/usr/bin/env bash
# Cassandra on four hosts, replication 3, measured by clients on all of them: one experiment that is left alone; one in
# which a host is cut off for a while and in the end a server is killed. Needs root and about six minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed
deployed cassandra

works quiet cassandra --set replication=3 --set write_acks=all
condition nodes 4
condition replication 3
condition write_copies 3
condition read_copies 1
condition consistency strong
condition differences ''
listens_privately
ok 'workloadA from four synchronized clients: rows of clients, nodes and the whole'

# Another configuration, one node after another, without another trial.
variables=(-e "@$evidence/trial.json" -e cassandra_concurrent_reads=16)
quietly playbook rolling.yml "${variables[@]}" --check --diff
grep -q '^+concurrent_reads: 16' "$work/log" || { cat "$work/log" >&2; fail '--check --diff does not show the change'; }
quietly playbook rolling.yml "${variables[@]}"
quietly playbook rolling.yml "${variables[@]}" --check
! grep -E '^host[0-9]+ .*changed=[1-9]' "$work/log" || fail 'rolling.yml changes what has been changed'
for n in 1 2 3 4; do
    testbed ssh "$n" 'grep -qx "concurrent_reads: 16" dohyo/run/cassandra/conf/cassandra.yaml && dohyo/bin/service status cassandra' >"$work/log" ||
        fail "host$n after the rolling change: $(cat "$work/log")"
done
stopped
ok 'a rolling change of the configuration, and its --check --diff'

# The second one: nobody knows when its measured window begins before its first histograms come home.
experiment disturbed cassandra --set replication=3 --set write_acks=all --duration 40 --set operationtimeout=2000 \
    --set maxerrorrate=1 &
run=$!
until compgen -G "$work/disturbed/raw/*/run-1/host*/*.hdr" >"$work/logs"; do
    kill -0 "$run" 2>/dev/null || { cat "$work/disturbed.log" >&2; fail 'run.sh ended before it measured'; }
    sleep 0.2
done
sleep 4
testbed partition 4
sleep 6
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
assert "host4" in trial["reason"] and "137" in trial["reason"], trial["reason"]
second = float(os.environ["KILLED"]) - json.load(open(os.environ["CLIENTS"]))["agreed"]
events = trial["events"]
[ended] = [event for event in events if event["host"] == "host4" and "exit code 137" in event["what"]]
assert abs(ended["at"] - second) < 2, (second, events)
# An operation that waits for the dead server has failed two seconds later.
errors = [event for event in events if "failed operations" in event["what"]]
assert any(second - 1 < event["at"] < second + 5 for event in errors), (second, events)
dips = [event for event in events if "below half" in event["what"]]
assert any(second - 2 < event["at"] < second + 4 for event in dips), (second, events)
# The partition came 18 s before, and was healed 12 s before: throughput came back.
assert any(second - 20 < event["at"] < second - 12 and event["until"] < second - 2 for event in dips), (second, events)
END
nothing_runs
ok 'a partition that heals is a dip, a killed server its errors and a dip at the right second; the run is invalid'
