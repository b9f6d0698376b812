# shellcheck shell=bash
# Functions for deploy_test.sh and destroy_test.sh, which record the state of the hosts and compare it with the state before the first
# deployment. Source this file after testbed.sh.
# shellcheck disable=SC2154 # testbed.sh sets the variables
before=$root/.testbed/before # removed with the testbed

on() { testbed ssh "$@"; }

# Prints everything on host N that deploy.yml could change: files, settings of the kernel and systemd, mounts, units, users, and the
# contents of the disks. Excludes logs, caches, files that Ansible, sudo and systemd write for their own use, and the output of
# Debian's daily timers.
snapshot() {
    on "$1" sudo bash -s <<'END'
find / -xdev \( -path /tmp -o -path /run -o -path /var/log -o -path /var/tmp -o -path /var/cache -o -path /var/lib/systemd -o -path /var/lib/chrony \
    -o -path /var/backups -o -path /var/lib/apt/daily_lock -o -path /var/lib/sudo -o -path /home/dohyo/.ansible -o -path /root/.ansible -o -path /etc \) -prune -o -type f -printf '%p %m %u %s %T@\n' -o -printf '%p %y %m %u %l\n' |
    sort
find /etc \( -type f -exec sha256sum {} + \) -o -printf '%p %y %m %u %l\n' | sort -k 2
sysctl -a 2>/dev/null | grep -E '^(vm\.(swappiness|max_map_count|zone_reclaim_mode)|fs\.aio-max-nr) '
grep . /sys/kernel/mm/transparent_hugepage/{enabled,defrag}
for disk in /dev/disk1 /dev/disk2; do
    cat "/sys/dev/block/$((0x$(stat -c %t "$disk"))):$((0x$(stat -c %T "$disk")))/queue"/{scheduler,read_ahead_kb}
    blkid -p "$disk"
done
systemctl show --property DefaultLimitNOFILE --property DefaultTasksMax
systemctl list-unit-files --no-legend | sort
findmnt --list --noheadings --types noproc,tmpfs,cgroup2,devtmpfs --output TARGET,SOURCE,FSTYPE,OPTIONS | sed "s|,uuid=on||" | sort # the overlay's name appears only before the first reboot of a host
getent passwd
END
}

# snapshots FOLDER HOST…: records the snapshots of all hosts concurrently
snapshots() {
    local n
    mkdir -p -- "$1"
    for n in "${@:2}"; do snapshot "$n" >"$1/host$n" & done
    wait
}

as_before() {
    local n
    snapshots "$work/now" 1 2 3 4
    for n in 1 2 3 4; do
        diff -- "$before/host$n" "$work/now/host$n" >&2 || fail "host$n differs from its state before deploy_test.sh: $*"
    done
}
