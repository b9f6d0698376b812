#!/usr/bin/env bash
# What deploy.yml and destroy.yml do to hosts, on four of them: preflight names everything that is wrong and changes nothing;
# devices, tuning, check mode, idempotence; in the end the hosts are as before. Needs root and about three minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
use_testbed

deploy() { playbook deploy.yml -e '{deploy_systems: [cassandra]}' "$@"; }
on() { testbed ssh "$@"; }

# Everything of host N that deploy.yml could change: files (but for logs, caches and what Ansible, sudo and systemd note for
# themselves), settings of the kernel and systemd, mounts, units, users, what is on the disks.
snapshot() {
    on "$1" sudo bash -s <<'END'
find / -xdev \( -path /tmp -o -path /run -o -path /var/log -o -path /var/tmp -o -path /var/cache -o -path /var/lib/systemd -o -path /var/lib/chrony \
    -o -path /var/lib/sudo -o -path /home/dohyo/.ansible -o -path /root/.ansible -o -path /etc \) -prune -o -type f -printf '%p %m %u %s %T@\n' -o -printf '%p %y %m %u %l\n' |
    sort
find /etc \( -type f -exec sha256sum {} + \) -o -printf '%p %y %m %u %l\n' | sort -k 2
sysctl -a 2>/dev/null | grep -E '^vm\.(swappiness|max_map_count|zone_reclaim_mode) '
grep . /sys/kernel/mm/transparent_hugepage/{enabled,defrag}
for disk in /dev/disk1 /dev/disk2; do
    cat "/sys/dev/block/$((0x$(stat -c %t "$disk"))):$((0x$(stat -c %T "$disk")))/queue"/{scheduler,read_ahead_kb}
    blkid -p "$disk"
done
systemctl show --property DefaultLimitNOFILE --property DefaultTasksMax
systemctl list-unit-files --no-legend | sort
findmnt --list --noheadings --types noproc,tmpfs,cgroup2,devtmpfs --output TARGET,SOURCE,FSTYPE,OPTIONS | sed "s|,uuid=on||" | sort # which overlay shows in the first life of a host only
getent passwd
END
}

snapshots() { for n in 1 2 3 4; do snapshot "$n" >"$work/host$n.$1" & done; wait; }
as_before() {
    local n
    snapshots now
    for n in 1 2 3 4; do
        diff -- "$work/host$n.before" "$work/host$n.now" >&2 || fail "host$n is not as before: $*"
    done
}

quietly playbook destroy.yml
# What a test that was interrupted has left.
on 1 'sudo systemctl stop squatter 2>/dev/null || true; sudo wipefs --quiet --all /dev/disk1'
on 3 'sudo wipefs --quiet --all /dev/disk2'
snapshots before

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
snapshots_of_three() { for n in 1 2 3; do snapshot "$n" >"$work/host$n.$1" & done; wait; }
snapshots_of_three broken
! deploy -i "$work/broken.yml" >"$work/log" 2>&1 || fail 'deploy.yml took broken hosts'
snapshots_of_three refused
for n in 1 2 3; do
    diff -- "$work/host$n.broken" "$work/host$n.refused" >&2 || fail "a preflight that failed has changed host$n"
done
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
on 1 'sudo systemctl stop squatter; sudo wipefs --quiet --all /dev/disk1'
testbed start 4
as_before 'after the refusal'
ok 'preflight names ten reasons on four hosts at once, and changes nothing'

# ---- Deploy ----------------------------------------------------------------------------------------------------------

quietly deploy --check --diff
as_before 'after --check'
ok '--check --diff on hosts that have nothing yet'
quietly deploy
ok 'deployed'
quietly deploy
! grep -E '^(host[0-9]+|localhost) .*changed=[1-9]' "$work/log" || { grep -B 3 '^changed' "$work/log" >&2; fail 'the second deploy.yml has changed something'; }
quietly deploy --check --diff
! grep -E '^(host[0-9]+|localhost) .*changed=[1-9]' "$work/log" || fail '--check on a deployed cluster wants to change something'
ok 'the second deploy.yml changes nothing, nor does --check --diff'

testbed crash 1
testbed start 1
for n in 1 3; do
    on "$n" 'findmnt --noheadings --types xfs --output OPTIONS /dohyo/disk1 | grep -q noatime && touch /dohyo/disk1/x && rm /dohyo/disk1/x' ||
        fail "host$n: /dohyo/disk1 is not mounted, or not ours to write"
done
on 1 'grep -q "swappiness = 1" /etc/sysctl.d/90-dohyo.conf && cd dohyo/bundle/cassandra && sha256sum --quiet --check .sha256' ||
    fail 'host1: settings or jars are missing'
ok 'devices are mounted, also after a boot; what was pushed is whole'

# A jar that is gone is noticed, and only its folder is pushed again.
on 2 'rm dohyo/bundle/cassandra/cassandra-*.jar'
quietly playbook deploy.yml --tags cassandra
[[ $(grep -c '^changed: ' "$work/log") == 1 ]] || { grep '^changed' "$work/log" >&2; fail 'not just one folder was pushed again'; }
ok 'a folder that is not whole is pushed again, to that host alone'

# ---- Destroy ---------------------------------------------------------------------------------------------------------

# What the kernel lets nobody change in here: the module's own way with files, from set to restored.
# setting STATE: the module on host 1 with a value in a file of ours
setting() {
    "$root/.venv/bin/ansible" -i inventories/testbed host1 -m host_settings --become \
        -a '{"state": "'"$1"'", "kept": "/run/dohyo-test/kept", "settings": [{"name": "x", "file": "/run/dohyo-test/value", "value": 1}]}' >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "host_settings: $1"; }
}
on 1 'sudo mkdir /run/dohyo-test; echo 60 | sudo tee /run/dohyo-test/value >/dev/null'
setting set
[[ $(on 1 cat /run/dohyo-test/value) == 1 ]] || fail 'a setting was not set'
setting restored
[[ $(on 1 'cat /run/dohyo-test/value; echo; ls /run/dohyo-test; sudo rm -r /run/dohyo-test' | xargs) == '60 value' ]] || fail 'a setting was not put back'

# Somebody has taken a disk back: it is not ours to wipe.
on 3 'sudo umount /dohyo/disk2 && sudo mkfs.ext4 -q -F -L precious /dev/disk2 && sudo sed -i "\\,/dohyo/disk2,d" /etc/fstab'
quietly playbook destroy.yml
on 3 'sudo blkid -p /dev/disk2 | grep -q precious && sudo wipefs --quiet --all /dev/disk2 && sudo rmdir -p --ignore-fail-on-non-empty /dohyo/disk2' ||
    fail 'destroy.yml wiped a disk that is not ours'
as_before 'after destroy.yml'
quietly playbook destroy.yml
ok 'destroy.yml leaves the hosts as they were'
