#!/usr/bin/env bash
# Cassandra on four hosts, replication 3, measured by clients on all of them; then a rolling change of its configuration.
# Needs root and about six minutes.
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
