#!/usr/bin/env bash
# Tests faults in two experiments with MySQL on four hosts. In the first, the scenario kills a replica, partitions the hosts, fills a
# disk and switches a host off. The results must show the faults, and no fault may remain. In the second, the test cuts the primary off
# and finally kills it. Both must appear at the right second, and the system must count as failed. Needs root and about two minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed
deployed mysql-innodb

experiment parted mysql-innodb --inventory inventories/testbed-apart --set replication=3 --set write_acks=quorum --set verify=acknowledged \
    --duration 22 --set target=200 --set operationtimeout=2000 --set insert.operationtimeout=60000 \
    --set 'faults=kill(node2)@1s, start(node2)@2s, fill(node3)@3s, free(node3)@4s, partition(node1|node2+node3)@6s, heal@10s, power(node2)@14s' ||
    { log_of parted; fail 'the run with a partition, a full disk and a host that was switched off failed'; }
look parted <<'END'
assert trial["status"] == "ok", trial["reason"]
[run] = trial["faults"]
assert [fault["kind"] for fault in run["faults"]] == ["kill", "fill", "partition", "power"], run
*_, partition, power = run["faults"]
# Throughput is low, because writes wait for a replica that cannot be reached.
assert partition["low_seconds"] >= 2 and partition["hosts"] == ["host1", "host2", "host3"], partition
# The host was switched on at the end of the window.
assert 14 <= power["at"] < 16 and 22 <= power["until"] < 24 and power["hosts"] == ["host2"], power
assert [node["cpu_seconds"] is None for node in trial["nodes"]] == [False, True, False], trial["nodes"]
accounting = run["accounting"]
assert accounting["read_back"] and accounting["acknowledged"] > 0 == accounting["lost"] == accounting["stale_reads"], accounting
END
filled=$(jq -r '.events[2].hosts.host3.what' "$evidence/run-1/faults.json")
[[ $filled == ?,???,???,???\ bytes\ on\ the\ disk\ of\ /dohyo/disk1* ]] || fail "the disk was filled with: $filled"
for n in 1 2 3; do
    [[ -z $(testbed ssh "$n" sudo nft list tables) ]] || fail "host$n still drops packets"
    [[ -z $(testbed ssh "$n" 'ls /etc/systemd/system /etc/systemd/system/*.wants | grep fault') ]] || fail "host$n would continue with faults after its next boot"
done
nothing_runs
grep -q 'Slave_IO_Running=Yes' "$evidence/server/host2/stats/run-1/stats-replica.txt" || fail 'a replica whose host was off does not follow the primary'
[[ -s $evidence/hosts/host2/metrics.jsonl.gz && -s $evidence/hosts/host2/metrics.jsonl.gz.1 ]] || fail 'there are no samples of host2 from before or after it was off'
ok 'faults=… kills a replica, partitions hosts, fills a disk and cuts power: writes wait, no acknowledged write is lost, and no fault remains'

! playbook trial.yml -e trial_system=mysql-innodb -e '{"trial_phases": [{"name": "run", "faults": "power(any)@1s"}]}' >"$work/log" 2>&1 ||
    fail 'a fault that switches off a host with a client was accepted'
grep -q 'power: host2 has a client, whose measurements would be lost' "$work/log" || { cat "$work/log" >&2; fail 'the output does not say why the host cannot be switched off'; }
ok 'a host with a client is not switched off'

# The hosts have the same controllers of cgroup version 2 as this machine.
testbed ssh 1 sudo /opt/dohyo/bin/agent faults check slow <<<'{"folders": [], "unit": "dohyo-test-fault.service"}' >"$work/slow"
if testbed ssh 1 grep -qw io /sys/fs/cgroup/cgroup.controllers; then why=; else why='slow: no io controller of cgroup v2*'; fi
# shellcheck disable=SC2053 # the right side is a pattern
[[ $(<"$work/slow") == $why ]] || fail "a slow disk, where '$why' was expected: $(<"$work/slow")"
ok 'the fault "slow" is refused on hosts without the cgroup controller "io"'

experiment disturbed mysql-innodb --set replication=3 --set write_acks=quorum --duration 35 --set operationtimeout=2000 \
    --set insert.operationtimeout=60000 --set core_workload_insertion_retry_limit=5 --set maxerrorrate=1 &
run=$!
# updated SECONDS: waits until host2's client, which is not on the primary's host, has received answers in SECONDS further seconds
updated() {
    local was=-1 now
    while :; do
        now=$(cat "$work"/disturbed/raw/*/run-1/host2/UPDATE.hdr 2>/dev/null | awk -F , '/^[0-9]/ && $3 > 0 { n++ } END { print n + 0 }') || true
        ((was >= 0)) || was=$now
        ((now < was + $1)) || break
        kill -0 "$run" 2>/dev/null || { log_of disturbed; fail "the run ended before the client had received answers for $1 s"; }
        sleep 0.2
    done
}
updated 3
cut=$(date +%s.%N)
testbed partition 1
sleep 6
testbed heal
healed=$(date +%s.%N)
updated 4
killing=$(date +%s.%N)
testbed ssh 1 sudo systemctl kill --kill-whom=main --signal=KILL "'dohyo-*-mysql.service'"
killed=$(date +%s.%N)
code=0
wait "$run" || code=$?
((code == 1)) || { cat "$work/disturbed.log" >&2; fail "run.sh ended with $code instead of 1 although a server was killed"; }
evidence=$(echo "$work"/disturbed/raw/*)
CUT=$cut HEALED=$healed KILLING=$killing KILLED=$killed CLIENTS=$evidence/run-1/clients.json look disturbed <<'END'
import os
assert trial["status"] == "failed" and trial["system_failed"], trial
assert "host1" in trial["reason"] and "137" in trial["reason"], trial["reason"]
agreed = json.load(open(os.environ["CLIENTS"]))["agreed"]
cut, healed, killing, killed = [float(os.environ[name]) - agreed for name in ("CUT", "HEALED", "KILLING", "KILLED")]
events = trial["events"]
[ended] = [event for event in events if event["host"] == "host1" and "exit code 137" in event["what"]]
assert killing - 1 < ended["at"] < killed + 5, (killing, killed, events)
# An operation that waits for the dead server fails two seconds later.
errors = [event for event in events if "failed operations" in event["what"]]
assert any(killing - 1 < event["at"] < killed + 7 for event in errors), (killing, killed, events)
dips = [event for event in events if "below half" in event["what"]]
assert any(killing - 2 < event["at"] < killed + 6 for event in dips), (killing, killed, events)
# Throughput recovered after the partition.
assert any(cut - 2 < event["at"] < healed and event["until"] < killing for event in dips), (cut, healed, killing, events)
END
no_secrets
nothing_runs
wiped mysql
ok 'a healed partition shows as a dip, and a killed server as errors and a dip, at the right second; the system counts as failed'
