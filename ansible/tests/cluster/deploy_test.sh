#!/usr/bin/env bash
# What deploy.yml does to four hosts: preflight names everything that is wrong and changes nothing; devices, tuning, check
# mode; in the end all systems are there, for the tests that follow. Needs root and about three minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/hosts.sh
. "$ansible/tests/cluster/lib/hosts.sh"
use_testbed
cassandra=(-e '{deploy_systems: [cassandra]}')

if on 4 test -e dohyo; then quietly playbook destroy.yml -e destroy=yes; fi
# What a test that was interrupted has left.
on 1 'sudo systemctl stop squatter 2>/dev/null || true; sudo wipefs --quiet --all /dev/disk1'
on 3 'sudo wipefs --quiet --all /dev/disk2'
snapshots "$before" 1 2 3 4

# ---- Preflight -------------------------------------------------------------------------------------------------------

cat >"$work/broken.yml" <<'END'
all:
  hosts:
    host1: {dohyo_devices: [/dev/disk1, /dev/disk7], cassandra_heap: 9000g}
    host2: {ansible_become_exe: /nowhere/sudo, dohyo_address: 10.66.0.99}
    host3: {host_clock: synchronised, host_systems: [plan9], dohyo_java_home: /nowhere/jdk}
END
# A port somebody listens on, and a disk on which somebody has files.
on 1 'sudo mkfs.ext4 -q -L precious /dev/disk1; sudo systemd-run --quiet --unit squatter --collect python3 -c "import socket
s = socket.create_server((\"10.66.0.11\", 9042)); import time; time.sleep(600)"'
testbed crash 4
! playbook deploy.yml "${cassandra[@]}" -i "$work/broken.yml" >"$work/log" 2>&1 || fail 'deploy.yml took broken hosts'
while read -r reason; do
    grep -qE "$reason" "$work/log" || { cat "$work/log" >&2; fail "preflight does not say: $reason"; }
done <<'END'
host1: /dev/disk1: it is not empty \(ext4 precious\)
host1: /dev/disk7: it is not there
host1: cassandra needs 92[0-9]+ MiB of memory
host1: port 9042 \(cassandra_cql_port\) is taken
host2: sudo does not work
host2: dohyo_address 10.66.0.99 is no address of this host
host3: the clock is not synchronised
host3: the operating system is
host3: no JDK 17 in /nowhere/jdk
host4: it cannot be reached
END
on 1 'sudo systemctl stop squatter && sudo blkid -p /dev/disk1 | grep -q precious && sudo wipefs --quiet --all /dev/disk1' ||
    fail 'a preflight that failed has ended a process, or wiped a disk'
testbed start 4
ok 'preflight names ten reasons on four hosts at once'

# ---- Deploy ----------------------------------------------------------------------------------------------------------

quietly playbook deploy.yml "${cassandra[@]}" --check --diff
as_before 'after a preflight that failed, and --check'
ok '--check --diff on hosts that have nothing yet; neither has changed anything'
quietly playbook deploy.yml
ok 'all systems are deployed'
quietly playbook deploy.yml "${cassandra[@]}" --check --diff
! grep -E '^(host[0-9]+|localhost) .*changed=[1-9]' "$work/log" ||
    { grep -B 3 '^changed' "$work/log" >&2; fail '--check on a deployed cluster wants to change something'; }
ok '--check --diff on a deployed cluster'

testbed crash 1
testbed start 1
for n in 1 3; do
    on "$n" 'findmnt --noheadings --types xfs --output OPTIONS /dohyo/disk1 | grep -q noatime && touch /dohyo/disk1/x && rm /dohyo/disk1/x' ||
        fail "host$n: /dohyo/disk1 is not mounted, or not ours to write"
done
on 1 'grep -q "swappiness = 1" /etc/sysctl.d/90-dohyo-*.conf && cd dohyo/bundle/cassandra && sha256sum --quiet --check .sha256' ||
    fail 'host1: settings or jars are missing'
ok 'devices are mounted, also after a boot; what was pushed is whole'

# A jar that is gone is noticed, and only its folder is pushed again.
on 2 'rm dohyo/bundle/cassandra/cassandra-*.jar'
quietly playbook deploy.yml --tags cassandra
[[ $(grep -c '^changed: ' "$work/log") == 1 ]] || { grep '^changed' "$work/log" >&2; fail 'not just one folder was pushed again'; }
ok 'a folder that is not whole is pushed again, to that host alone'
