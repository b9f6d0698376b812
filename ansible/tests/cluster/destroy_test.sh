#!/usr/bin/env bash
# Tests that destroy.yml restores four hosts to their state before deploy_test.sh, no matter what other tests have done there since.
# Needs root and about a minute.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/hosts.sh
. "$ansible/tests/cluster/lib/hosts.sh"
use_testbed
[[ -d $before ]] || fail 'the earlier state of the hosts is unknown: run deploy_test.sh on the same testbed first'

# Kernel values are read-only in the containers, so the agent's verb host_settings sets and restores a value in a file that this test creates.
# setting STATE: runs host_settings on host 1
setting() {
    "$root/.venv/bin/ansible" -i inventories/testbed host1 -m agent --become \
        -a '{"do": "host_settings", "state": "'"$1"'", "kept": "/run/dohyo-test/kept", "settings": [{"name": "x", "file": "/run/dohyo-test/value", "value": 1}]}' >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "host_settings: $1"; }
}
on 1 'sudo mkdir /run/dohyo-test; echo 60 | sudo tee /run/dohyo-test/value >/dev/null'
setting set
[[ $(on 1 cat /run/dohyo-test/value) == 1 ]] || fail 'a setting was not set'
setting restored
[[ $(on 1 'cat /run/dohyo-test/value; echo; ls /run/dohyo-test; sudo rm -r /run/dohyo-test' | xargs) == '60 value' ]] || fail 'a setting was not restored'

# Use a disk for other data, so that destroy.yml must not wipe it.
on 3 'sudo umount /dohyo/disk2 && sudo mkfs.ext4 -q -F -L precious /dev/disk2 && sudo sed -i "\\,/dohyo/disk2,d" /etc/fstab'
on 4 'sudo systemctl start firewalld'
! playbook destroy.yml </dev/null >"$work/log" 2>&1 || fail 'destroy.yml did not ask for approval'
grep -q 'to approve the removal in advance: -e destroy=yes' "$work/log" || { cat "$work/log" >&2; fail 'destroy.yml does not say how to approve the removal'; }
# Run destroy.yml on host1 first: after that, host1 has no project folder, but the control machine still has one.
quietly playbook destroy.yml -e destroy=yes --limit host1
quietly playbook destroy.yml -e destroy=yes
on 3 'sudo blkid -p /dev/disk2 | grep -q precious && sudo wipefs --quiet --all /dev/disk2 && sudo rmdir -p --ignore-fail-on-non-empty /dohyo/disk2' ||
    fail 'destroy.yml wiped a foreign disk'
on 4 '! sudo firewall-cmd --get-zones | grep -o "dohyo-[0-9a-f]*" && sudo systemctl stop firewalld' || fail 'destroy.yml left a zone in firewalld'
as_before 'after destroy.yml'
quietly playbook destroy.yml
! grep -E '^(host[0-9]+|localhost) .*changed=[1-9]' "$work/log" || { cat "$work/log" >&2; fail 'a second run of destroy.yml changed something'; }
ok 'destroy.yml restores the hosts, and a second run of destroy.yml changes nothing'
