#!/usr/bin/env bash
# Tests PostgreSQL on four hosts: a primary, two synchronous standbys and an idle host, with clients on all. Needs root and about a minute.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed

deployed postgresql

works quiet postgresql --set replication=3 --set write_acks=all --set durability=disk --set postgresql_max_wal_size=64m
condition nodes 3
condition replication 3
condition write_acks all
condition write_copies 3
condition durability disk
condition consistency strong
condition differences ''
condition notes '*2 of 2 standbys, log on disk*3 of 4 database hosts serve*'
grep -q 'state=streaming' "$evidence/server/host1/stats/run-1/stats-replication.txt" || fail 'no standby receives the log from host1'
no_secrets
ok 'a primary and two synchronous standbys, with all rows on each'

listens_privately
ok 'no server listens on all interfaces'

# Writes need both standbys: if one of them is missing, no write may be acknowledged.
inserts postgresql postgresql PostgresqlBinding 20000 || fail 'a write was not acknowledged by two standbys'
testbed freeze 3
! inserts postgresql postgresql PostgresqlBinding 3000 || fail 'a write was acknowledged without a standby'
testbed thaw 3
ok 'a write waits for both standbys'

stopped
