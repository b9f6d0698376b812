#!/usr/bin/env bash
# Aerospike as a mesh of four nodes, clients on all. AEROSPIKE_ASD names the server's program; needs root, three minutes.
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
condition differences 'consistency: asked for strong, the server has available, not strongly consistent'
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
ok 'nobody listens on all interfaces'

rolled aerospike aerospike.conf proto-fd-max aerospike_fd_max 14000 15000
stopped
! playbook trial.yml -e '{trial_system: aerospike, trial_conditions: {replication: 5}}' -e "trial_dir=$evidence" >"$work/log" ||
    fail 'replication 5 on four hosts was not refused'
grep -q 'replication (5)' "$work/log" || fail "replication 5 is refused without its reason: $(tail "$work/log")"
! playbook trial.yml -e '{trial_system: aerospike, aerospike_authentication: true}' -e "trial_dir=$evidence" >"$work/log" ||
    fail 'the Community edition was to have authentication, and that was not refused'
grep -q 'Enterprise' "$work/log" || fail "authentication is refused without its reason: $(tail "$work/log")"
wiped aerospike
ok 'what cannot be is refused; nothing is left'
