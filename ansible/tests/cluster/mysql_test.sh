#!/usr/bin/env bash
# MySQL on four hosts: a primary, two semi-synchronous replicas, one idle; clients on all, one of whose hosts crashes in
# the end. Needs root and about four minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed

deployed mysql-innodb

works quiet mysql-innodb --set replication=3 --set write_acks=all --set durability=disk --set mysql_log_file=64m
condition nodes 3
condition replication 3
condition write_acks quorum
condition write_copies 2
condition consistency strong
condition notes '*1 of 2 replicas*3 of 4 database hosts serve*'
# MariaDB waits for one replica, however many there are.
condition differences 'write_acks: asked for all, the server has quorum'
grep -q 'Slave_SQL_Running=Yes' "$evidence/server/host3/stats/run-1/stats-replica.txt" || fail 'host3 does not say that it replicates'
no_secrets
ok 'a primary and two semi-synchronous replicas, with all rows on each'

listens_privately
ok 'nobody listens on all interfaces'

# One replica of two is enough for a write, and none is not: the primary goes on waiting.
inserts() {
    testbed ssh 1 "cd dohyo && java -cp 'bundle/mysql/*' site.ycsb.Client -load -db dohyo.mysql.MysqlBinding \
        -P run/mysql-innodb.properties -p workload=site.ycsb.workloads.CoreWorkload -p recordcount=5000 \
        -p operationtimeout=$1 -p insertstart=4500 -p insertcount=1 2>&1" | grep '\[INSERT\], Return=OK, 1'
}
testbed freeze 2
inserts 20000 || fail 'one replica of two is not enough'
testbed freeze 3
! inserts 3000 || fail 'a write was acknowledged without a replica'
testbed thaw 2
testbed thaw 3
ok 'a write waits for one replica, and does not go on without'

stopped

# The host of a client, which carries an idle server only, is powered off.
experiment myisam mysql-myisam --set replication=2 --set write_acks=one --duration 60 &
run=$!
measuring myisam "$run" host4
testbed crash 4
crashed=$SECONDS
until grep -q 'failed while in run 1 of 1: .*host4 vanished' "$work/myisam.log"; do
    ((SECONDS - crashed <= 30)) || { cat "$work/myisam.log" >&2; fail 'no word of a crashed host within 30 s'; }
    sleep 0.2
done
said=$((SECONDS - crashed)) code=0
wait "$run" || code=$?
((code == 1)) || { cat "$work/myisam.log" >&2; fail "run.sh ended with $code instead of 1 although a client's host was gone"; }
((SECONDS - crashed <= 60)) || fail "run.sh ended $((SECONDS - crashed)) s after the crash"
ok "a client's host that crashes: run.sh said so after $said s and ended after $((SECONDS - crashed)) s"
evidence=$(echo "$work"/myisam/raw/*)
look myisam <<'END'
assert trial["status"] == "invalid" and "host4 vanished" in trial["reason"], trial
assert [(client["host"], client["state"]) for client in trial["clients"]][2:] == [("host3", "stopped"), ("host4", "vanished")], trial["clients"]
END
condition replication 2
condition write_copies 1
condition notes '*asynchronous*'
wiped mysql 1 2 3
testbed start 4
nothing_runs
ok 'MyISAM with an asynchronous replica; nothing is left where hosts were there to be asked'
