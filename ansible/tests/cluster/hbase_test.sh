#!/usr/bin/env bash
# Tests HBase on HDFS and ZooKeeper on four hosts with replication 3, measured by clients on all hosts, and then with Kerberos. Needs root
# and about four minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed

deployed hbase

works quiet hbase --strict-conditions --set replication=3 --set write_acks=all
"$root/.venv/bin/python" - "$evidence" <<'END' || fail 'see the assertion above'
import json, pathlib, sys
trial = pathlib.Path(sys.argv[1])
found = json.loads((trial / "conditions.json").read_text())
assert not found["differences"], found
assert (found["nodes"], found["replication"], found["write_copies"], found["consistency"]) == (4, 3, 3, "strong"), found
assert (found["fixed"], found["exceeded"]) == (["write_acks"], {}), found
notes = "; ".join(found["notes"])
for note in ["regions per table: 16 (4 + 4 + 4 + 4)", "HDFS: 4 DataNodes, 0 blocks", "asyncfs on HDFS", "1 backup"]:
    assert note in notes, (note, notes)
settled = json.loads((trial / "settled.json").read_text())
assert settled["rows"] == {"usertable": 1000}, settled
assert (settled["replication"], settled["locality"]) == (3, 1), settled
written = 0
for host in ("host1", "host2", "host3", "host4"):
    beans = json.loads((trial / "server" / host / "stats" / "run-1" / "stats-jmx.txt").read_text())["beans"]
    [server] = [bean for bean in beans if bean["name"] == "Hadoop:service=HBase,name=RegionServer,sub=Server"]
    assert server["totalRequestCount"] > 100, (host, server["totalRequestCount"])
    logs = {file.name for file in (trial / "server" / host).glob("*.log")}
    assert {"datanode.log", "regionserver.log"} <= logs, (host, logs)
END
ok 'four region servers with the same number of regions, three copies in HDFS, requests on every server'

listens_privately
for n in 1 2 3 4; do
    testbed ssh "$n" 'systemctl list-units --plain --no-legend "dohyo-*-hbase-*" | sed -E "s/^dohyo-[0-9a-f]{12}/dohyo/; s/ .*//" | xargs'
done >"$work/units"
cmp - "$work/units" <<'END' || fail "the running units are not the expected ones: $(cat "$work/units")"
dohyo-hbase-datanode.service dohyo-hbase-master.service dohyo-hbase-namenode.service dohyo-hbase-regionserver.service dohyo-hbase-zookeeper.service
dohyo-hbase-datanode.service dohyo-hbase-master.service dohyo-hbase-regionserver.service dohyo-hbase-zookeeper.service
dohyo-hbase-datanode.service dohyo-hbase-regionserver.service dohyo-hbase-zookeeper.service
dohyo-hbase-datanode.service dohyo-hbase-regionserver.service
END
ok 'each host runs its processes, and listens only on its own address'

# Check the limit that systemd reports: whether the kernel enforces it depends on the host's cgroups.
condition memory_budget '2,048 MiB*'
for n in 1 2 3 4; do
    testbed ssh "$n" 'systemctl show --property Slice --value "dohyo-*-hbase-*" | sort -u | xargs systemctl show --property MemoryMax --property MemorySwapMax'
done >"$work/limits"
[[ $(sort "$work/limits" | uniq -c | xargs) == '4 MemoryMax=2147483648 4 MemorySwapMax=0' ]] ||
    fail "the processes of a host do not share one budget: $(xargs <"$work/limits")"
ok 'all processes on a host share one memory budget'

stopped
for n in 1 2 3 4; do
    ! testbed ssh "$n" 'sudo journalctl --quiet --boot --unit "dohyo-*-hbase-*" --grep "timed out. Killing"' || fail "host$n: systemd had to kill a server that did not stop in time"
done
ok 'stopped'

# The first three hosts run ZooKeeper; its servers log in to each other.
experiment kerberos hbase --set target=400 --strict-conditions --set replication=3 --set hbase_authentication=true ||
    { log_of kerberos; fail 'the experiment with Kerberos failed'; }
condition notes '*clients and nodes log in with Kerberos*'
for n in 1 2 3; do
    grep -q 'Successfully completed the authentication using SASL' "$evidence/server/host$n/zookeeper.log" || fail "host$n: ZooKeeper's servers did not log in"
done
wiped hbase
ok 'with Kerberos, clients, servers and ZooKeepers log in, and no key is left'
