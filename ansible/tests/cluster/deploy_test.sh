#!/usr/bin/env bash
# Tests deploy.yml on four hosts: preflight must report all problems and change nothing. Then tests devices, tuning and check mode. At the
# end, all systems are deployed for the tests that run afterwards. Needs root and about three minutes.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/hosts.sh
. "$ansible/tests/cluster/lib/hosts.sh"
use_testbed
cassandra=(-e '{deploy_systems: [cassandra]}')

if on 4 test -e /opt/dohyo; then quietly playbook destroy.yml -e destroy=yes; fi
# Remove the leftovers of an interrupted test.
on 1 'sudo systemctl stop squatter 2>/dev/null || true; sudo wipefs --quiet --all /dev/disk1'
on 3 'sudo wipefs --quiet --all /dev/disk2; sudo nft delete table inet dropper 2>/dev/null || true'
on 2 'sudo -n /bin/cp /root/lenient /etc/sudoers.d/dohyo 2>/dev/null || true'
# With /root/strict installed, host2's user needs a password for sudo; host3's root has a password for su.
password=$(head -c 9 /dev/urandom | base64)
on 2 "echo 'dohyo:$password' | sudo chpasswd; sudo cp /etc/sudoers.d/dohyo /root/lenient
    printf 'dohyo ALL=(ALL) ALL\ndohyo ALL=(ALL) NOPASSWD: /bin/cp /root/lenient /etc/sudoers.d/dohyo\n' | sudo tee /root/strict >/dev/null"
on 3 "echo 'root:$password' | sudo chpasswd"
snapshots "$before" 1 2 3 4

# ---- Preflight -------------------------------------------------------------------------------------------------------

cat >"$work/broken.yml" <<'END'
all:
  hosts:
    host1: {dohyo_devices: [/dev/disk1, /dev/disk7], cassandra_heap: 9000g}
    host2: {ansible_become_exe: /nowhere/sudo, dohyo_address: 10.66.0.99}
    host3: {host_clock: synchronised, host_systems: [plan9], dohyo_java_home: /nowhere/jdk, cassandra_address: 8.8.8.8, host_disk_layout: raid0}
END
# Occupy a port, and create a file system on a disk.
on 1 'sudo mkfs.ext4 -q -L precious /dev/disk1; sudo systemd-run --quiet --unit squatter --collect python3 -c "import socket
s = socket.create_server((\"10.66.0.11\", 9042)); import time; time.sleep(600)"'
# Add a firewall that blocks host1's access to one port of host3.
on 3 'sudo nft -f -' <<'END'
table inet dropper {
    chain input { type filter hook input priority 0; ip saddr 10.66.0.11 tcp dport 7000 drop; }
}
END
testbed crash 4
! playbook deploy.yml "${cassandra[@]}" -i "$work/broken.yml" >"$work/log" 2>&1 || fail 'deploy.yml accepted broken hosts'
while read -r reason; do
    grep -qE "$reason" "$work/log" || { cat "$work/log" >&2; fail "preflight does not say: $reason"; }
done <<'END'
host1: /dev/disk1: it is not empty \(ext4 precious\)
host1: /dev/disk7: it is not there
host1: cassandra needs 92[0-9]+ MiB of memory
host1: port 9042 \(cassandra_cql_port\) is taken
host2: sudo does not work
host2: dohyo_address 10.66.0.99 is not an address of this host
host3: the clock is not synchronised
host3: it runs .*, not 
host3: no JDK 17 in /nowhere/jdk
host3: cassandra on public 8.8.8.8 has no password
host3: host_disk_layout=raid0 makes one RAID0 of several devices
host4: it cannot be reached
host1: it cannot reach host3 \(10.66.0.13\) on port 7000 \(cassandra_storage_port\): no answer within 3 s; allow TCP
END
[[ $(grep -o 'host.: it cannot reach host.' "$work/log" | sort -u) == 'host1: it cannot reach host3' ]] || { cat "$work/log" >&2; fail 'preflight reports a connection that works as a problem'; }
on 3 'sudo nft delete table inet dropper'
on 1 'sudo systemctl stop squatter && sudo blkid -p /dev/disk1 | grep -q precious && sudo wipefs --quiet --all /dev/disk1' ||
    fail 'a failed preflight ended a process or wiped a disk'
testbed start 4
ok 'a single preflight reports thirteen problems on four hosts'

# ---- Deploy ----------------------------------------------------------------------------------------------------------

quietly playbook deploy.yml "${cassandra[@]}" --check --diff
as_before 'after a failed preflight, and --check'
ok '--check --diff on fresh hosts; neither preflight nor --check changes anything'

# Programs on a host never call sudo themselves: Ansible becomes root there, with a password if the host requires one.
cat >"$work/become.yml" <<'END'
all:
  hosts:
    host3: {ansible_become_method: su, ansible_become_flags: -l}
END
(umask 077 && printf '%s' "$password" >"$work/password")
on 2 'sudo cp /root/strict /etc/sudoers.d/dohyo; ! sudo -n true 2>/dev/null' || fail 'host2: sudo does not ask for a password'
! playbook deploy.yml "${cassandra[@]}" --tags preflight >"$work/log" 2>&1 || fail 'preflight does not report the missing password'
grep -q 'host2: sudo does not work: .*ANSIBLE_BECOME_PASSWORD_FILE' "$work/log" || { cat "$work/log" >&2; fail 'preflight does not say how to provide a password'; }
ANSIBLE_BECOME_PASSWORD_FILE=$work/password quietly playbook -i "$work/become.yml" deploy.yml
ok 'all systems are deployed, with passwords for sudo and su'
ANSIBLE_BECOME_PASSWORD_FILE=$work/password quietly playbook -i "$work/become.yml" trial.yml -e trial_system=mysql-innodb -e trial_until=schema \
    -e "trial_dir=$work/trial" -e '{trial_conditions: {replication: 3, write_acks: all}}'
for n in 1 2 3; do
    on "$n" 'systemctl is-active "dohyo-*-mysql.service" && /opt/dohyo/bin/agent log mysql | grep -q "ready for connections" &&
        ! find /opt/dohyo ! -user dohyo | grep .' >"$work/log" || { cat "$work/log" >&2; fail "host$n: the server is not running, or some files belong to root"; }
done
quietly playbook stop.yml
nothing_runs
on 2 'sudo -n /bin/cp /root/lenient /etc/sudoers.d/dohyo'
ok 'servers start as units, with passwords for sudo and su'
quietly playbook deploy.yml "${cassandra[@]}" --check --diff
! grep -E '^(host[0-9]+|localhost) .*changed=[1-9]' "$work/log" ||
    { grep -B 3 '^changed' "$work/log" >&2; fail '--check would change something on a deployed cluster'; }
ok '--check --diff on a deployed cluster'

testbed crash 1
testbed start 1
for n in 1 3; do
    on "$n" 'findmnt --noheadings --types xfs --output OPTIONS /dohyo/disk1 | grep -q noatime && touch /dohyo/disk1/x && rm /dohyo/disk1/x' ||
        fail "host$n: /dohyo/disk1 is not mounted, or the user cannot write to it"
done
on 1 'grep -q "swappiness = 1" /etc/sysctl.d/90-dohyo-*.conf && cd /opt/dohyo/bundle/cassandra && sha256sum --quiet --check .sha256' ||
    fail 'host1: settings or jars are missing'
ok 'devices are mounted even after a reboot; the copied folders are complete'

# ---- firewalld -------------------------------------------------------------------------------------------------------

# Preflight must also report devices with another layout, even without the programs that make an array.
on 4 'sudo systemctl start firewalld'
! playbook deploy.yml "${cassandra[@]}" --tags preflight -e host_firewall=false -e host_disk_layout=raid0 >"$work/log" 2>&1 ||
    fail 'preflight does not report a firewall and devices with another layout'
for n in 1 2 3; do
    grep -qE "host$n: it cannot reach host4 \\(10.66.0.14\\) on any of [0-9]+ ports: No route to host; allow TCP" "$work/log" ||
        { cat "$work/log" >&2; fail "preflight does not say that host$n cannot reach host4"; }
done
grep -q '/dev/disk1 has its own file system on /dohyo/disk1; .*not host_disk_layout=raid0; run destroy.yml' "$work/log" ||
    { cat "$work/log" >&2; fail 'deploy.yml does not say what is wrong with the layout'; }
quietly playbook deploy.yml "${cassandra[@]}" --tags host
# shellcheck disable=SC2016 # host4 expands them
on 4 'zone=$(sudo firewall-cmd --get-active-zones | grep -o "^dohyo-[0-9a-f]*") &&
    sudo firewall-cmd --zone="$zone" --list-sources | xargs' >"$work/log" || fail 'host4: firewalld has no zone'
[[ $(<"$work/log") == '10.66.0.11 10.66.0.12 10.66.0.13 10.66.0.14' ]] || fail "host4: the zone is for $(<"$work/log")"
ok 'preflight reports what firewalld rejects; deploy.yml makes a zone for the hosts'

# After a jar has been removed, only its folder may be copied again. The zone must stay unchanged.
on 2 'rm /opt/dohyo/bundle/cassandra/cassandra-*.jar'
quietly playbook deploy.yml --tags host,cassandra
[[ $(grep '^changed: ' "$work/log" | cut -c 1-16) == 'changed: [host2]' ]] || { grep -B 3 '^changed' "$work/log" >&2; fail 'not exactly one folder was copied again'; }
on 4 'sudo systemctl stop firewalld'
ok 'an incomplete folder is copied again, only to that host, and a second deploy.yml does not change the zone'
