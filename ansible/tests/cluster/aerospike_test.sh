#!/usr/bin/env bash
# Tests Aerospike as a mesh of four nodes, with clients on all of them. AEROSPIKE_ASD names the server's program. Needs root and three minutes.
set -euo pipefail
asd=${AEROSPIKE_ASD:-$(command -v asd || true)}
[[ -n $asd ]] || { echo 'skipped: no asd on this machine; AEROSPIKE_ASD=FILE names one'; exit 0; }
export AEROSPIKE_ASD=$asd
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed

deployed aerospike

works quiet aerospike --set replication=3 --set write_acks=all
condition nodes 4
condition replication 3
condition write_copies 3
condition read_copies 1
condition differences "consistency: requested 'strong', but the server has 'available, not strongly consistent'"
condition endpoints '*.11:*.12:*.13:*.14:*'
for host in host1 host2 host3 host4; do
    grep -qx 'cluster_size=4' "$evidence/server/$host/stats/run-1/stats-statistics.txt" || fail "$host does not see four nodes"
done
no_secrets
ok 'a mesh of four nodes with three copies'

listens_privately
for n in 1 2 3 4; do
    [[ $(testbed ssh "$n" 'ss -ltnH' | grep -c ' 10\.[0-9.]*:300[0-3] ') == 4 ]] || fail "host$n does not listen on its four ports"
done
ok 'no server listens on all interfaces'

stopped
! playbook trial.yml -e '{trial_system: aerospike, trial_conditions: {replication: 5}}' -e "trial_dir=$evidence" >"$work/log" ||
    fail 'replication 5 on four hosts was not refused'
grep -q 'replication 5 needs as many database hosts, not 4' "$work/log" || fail "the message does not say why replication 5 is refused: $(tail "$work/log")"
! playbook trial.yml -e '{trial_system: aerospike, aerospike_authentication: true}' -e "trial_dir=$evidence" >"$work/log" ||
    fail 'authentication with the Community edition was not refused'
grep -q 'Enterprise' "$work/log" || fail "the message does not say why authentication is refused: $(tail "$work/log")"
wiped aerospike
ok 'impossible requests are refused; nothing is left'

# Raw devices need a testbed with a third disk, because the first two have file systems.
if ! testbed ssh 1 'test -b /dev/disk3'; then
    echo 'skipped: raw devices; testbed down, then testbed up 4 3'
    exit 0
fi
raw=(--set aerospike_storage=device --set 'aerospike_devices=["/dev/disk3"]' --set profile=tuned)
# refused REASON: checks that a trial with raw devices ends with this reason before it has changed any device
refused() {
    ! playbook trial.yml -e '{trial_system: aerospike, aerospike_storage: device, aerospike_devices: [/dev/disk3]}' -e "trial_dir=$evidence" >"$work/log" ||
        fail "not refused: $1"
    grep -q "$1" "$work/log" || fail "\"$1\" is not named: $(tail "$work/log")"
}
refused 'may not read and write /dev/disk3'
for n in 1 2 3 4; do
    # Set the group that udev sets on real hosts. The disk is small, because zeroing it fills the file of the loop device.
    testbed ssh "$n" 'sudo chgrp disk /dev/disk3 && sudo chmod 660 /dev/disk3'
    truncate -s 600M "$root/.testbed/host$n/disk3"
    losetup -c "$(losetup -n -O NAME -j "$root/.testbed/host$n/disk3")"
done
experiment raw aerospike "${raw[@]}" || { log_of raw; fail 'the trial on raw devices failed'; }
for host in host1 host2 host3 host4; do
    grep -q '^storage-engine.device\[0\]=/dev/disk3' "$evidence/server/$host/stats/run-1/stats-config-namespace.txt" || fail "$host used another device"
    grep -qx 'storage-engine.flush-size=131072' "$evidence/server/$host/stats/run-1/stats-config-namespace.txt" || fail "$host has another flush-size"
done
for n in 1 2 3 4; do
    testbed ssh "$n" 'sudo cmp -n 8388608 /dev/disk3 /dev/zero' || fail "host$n still has data on its device"
done
testbed ssh 2 'echo data | sudo dd of=/dev/disk3 conv=notrunc status=none'
refused 'host2: /dev/disk3 is not empty'
ok 'raw devices, which only the unit of the server may open, are emptied after the trial; others are refused'
