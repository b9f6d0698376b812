#!/usr/bin/env bash
# Tests MySQL on four hosts: a primary, two semi-synchronous replicas and an idle host, with clients on all. Needs root and about a minute.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed

deployed mysql-innodb

works quiet mysql-innodb --set replication=3 --set write_acks=all --set durability=disk --set mysql_log_file=64m --set canary=true
look quiet <<'END'
hosts = ["host1", "host2", "host3", "host4"]
found = trial["canary"]["figures"]
assert sorted({(f["host"], f["of"]) for f in found if f["name"] == "rtt"}) == [(a, b) for a in hosts for b in hosts], found
assert {f["host"] for f in found if f["name"] == "disk_fsync"} == set(hosts) and not trial["canary"]["problems"], trial["canary"]
END
condition nodes 3
condition replication 3
condition write_acks quorum
condition write_copies 2
condition consistency strong
condition notes '*1 of 2 replicas*3 of 4 database hosts serve*'
# MariaDB waits for one replica, even if there are more.
condition differences "write_acks: requested 'all', but the server has 'quorum'"
grep -q 'Slave_SQL_Running=Yes' "$evidence/server/host3/stats/run-1/stats-replica.txt" || fail 'host3 does not replicate'
no_secrets
ok 'a primary and two semi-synchronous replicas, with all rows on each'

listens_privately
ok 'no server listens on all interfaces'

# A write must succeed while one of two replicas runs. Without replicas, the primary must keep waiting.
testbed freeze 2
inserts mysql-innodb mysql MysqlBinding 20000 || fail 'a write failed although one of two replicas was running'
testbed freeze 3
! inserts mysql-innodb mysql MysqlBinding 3000 || fail 'a write was acknowledged without a replica'
testbed thaw 2
testbed thaw 3
ok 'a write waits for one replica, and is not acknowledged without a replica'

stopped
