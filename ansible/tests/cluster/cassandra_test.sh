#!/usr/bin/env bash
# Tests Cassandra on four hosts with replication 3, measured by clients on all hosts.
# Needs root and about five minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed
deployed cassandra

works quiet cassandra --set replication=3 --set write_acks=all --set preconditioning=1000
[[ -s $evidence/precondition-1/clients.json ]] || fail 'there was no preconditioning before the run'
condition nodes 4
condition replication 3
condition write_copies 3
condition read_copies 1
condition consistency strong
condition differences ''
listens_privately
ok 'workloadA from four synchronized clients: rows for clients, nodes and the total'

stopped
