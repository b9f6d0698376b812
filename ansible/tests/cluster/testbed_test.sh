#!/usr/bin/env bash
# Tests testbed/testbed by starting hosts. Needs root and about two minutes; the first run takes one more minute to build the image.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
ansible=$(cd -- "$here/../.." && pwd -P)
root=${ansible%/*}
state=$root/.testbed

((EUID == 0)) || { echo 'skipped: the testbed needs root'; exit 0; }
"$ansible/testbed/tools.sh" || { echo 'skipped: the tools are missing, see above'; exit 0; }
if ! unshare --net --mount true 2>/dev/null || [[ ! -w $(findmnt -n -f -t cgroup2 -o TARGET) ]]; then
    echo 'skipped: namespaces and cgroups cannot be created here'
    exit 0
fi

cd -- "$ansible"
work=$(mktemp -d)
foreign=
cleanup() {
    testbed/testbed down || true
    [[ -z $foreign ]] || rmdir -- "$foreign"
    rm -rf -- "$work"
}
trap cleanup EXIT
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
ok() { printf 'ok: %s (%d s)\n' "$*" "$SECONDS"; }
testbed() { "$ansible/testbed/testbed" "$@"; }
ansible() { "$root/.venv/bin/ansible" -i inventories/testbed "$@"; }
# Succeeds if host $1 can ping host $2. Waits up to 3 s, because the kernel retries only after about 1 s.
reaches() { testbed ssh "$1" ping -c 1 -w 3 "host$2" >/dev/null; }

# Prints everything that a testbed could leave behind on this machine, except images, which are kept on purpose.
leftovers() {
    find "$(findmnt -n -f -t cgroup2 -o TARGET)" -maxdepth 1 -name 'dohyo-testbed-*' -printf 'cgroup %f\n'
    grep -F -- "$state" /proc/mounts || true
    losetup --list --noheadings --output NAME,BACK-FILE | grep -F -- "$state" || true
    grep -hszF -f "$work/state" /proc/[0-9]*/cmdline | tr '\0' ' ' || true
    find "$state" -mindepth 1 -maxdepth 1 ! -name image ! -name bare 2>/dev/null || true
    ip -brief link
    ip -all netns list 2>/dev/null || true
    ls -A /run/systemd /run/netns 2>/dev/null || true
}

echo "$state" >"$work/state"
testbed down
leftovers >"$work/before"
nothing_left() {
    local end=$((SECONDS + 60)) # wait until SSH has noticed that its connections are gone
    until leftovers >"$work/after" && cmp -s -- "$work/before" "$work/after"; do
        ((SECONDS < end)) || { diff -- "$work/before" "$work/after" >&2 || fail "something is left $*"; }
        sleep 0.2
    done
}

code=0
testbed status >/dev/null || code=$?
((code == 3)) || fail "without a testbed, status ends with $code instead of 3"
testbed up 4
[[ $(testbed status | grep -c '^host[1-4]: 10\.') == 4 ]] || fail 'status does not show four hosts'
for n in 1 2 3 4; do [[ $(testbed ssh "$n" 'hostname; sudo id -u' | xargs) == "host$n 0" ]] || fail "ssh $n"; done
[[ $(ansible all -m ping | grep -c SUCCESS) == 4 ]] || fail 'ansible ping'
ok 'four hosts, reached by SSH and Ansible'

if ! reaches 1 2 || ! reaches 3 4; then fail 'hosts do not reach each other'; fi
! testbed ssh 1 ping -c 1 -W 1 192.0.2.1 &>/dev/null || fail 'a host reaches the internet'
! ip address | grep -F "$(sed -n 's/.*ansible_host: \(.*\)\..*/\1/p' inventories/testbed/hosts.yml | head -n 1)." || fail 'the hosts'\'' network is visible on this machine'
ok 'the hosts reach each other, but not the internet'

testbed partition 1 2
if ! reaches 1 2 || ! reaches 4 3; then fail 'a partition separates hosts on the same side'; fi
if reaches 1 3 || reaches 4 2; then fail 'a partition does not separate hosts'; fi
testbed heal
if ! reaches 1 3 || ! reaches 4 2; then fail 'a healed partition still separates hosts'; fi
ok 'partition and heal'

testbed freeze 4
[[ $(testbed status) == *', frozen'* ]] || fail 'status does not show a frozen host'
! timeout 3 "$ansible/testbed/testbed" ssh 4 true 2>/dev/null || fail 'a frozen host still answers'
testbed thaw 4
testbed ssh 4 true || fail 'a thawed host does not answer'
ok 'freeze and thaw'

boots=$(testbed ssh 2 'cat /proc/sys/kernel/random/boot_id; echo kept >kept')
ansible host2 --become -m ansible.builtin.reboot >/dev/null || fail 'ansible.builtin.reboot'
[[ $(testbed ssh 2 cat kept /proc/sys/kernel/random/boot_id) != "kept $boots" ]] || fail 'host2 did not reboot'
ok 'a reboot by Ansible'

testbed ssh 3 'echo kept >kept; sudo mkfs.xfs -q /dev/disk1; sudo mkdir /data; echo "/dev/disk1 /data xfs defaults 0 0" |
    sudo tee -a /etc/fstab >/dev/null; sudo systemctl daemon-reload; sudo mount /data; sudo touch /data/kept; sync; sudo touch /data/forgotten'
testbed crash 3
[[ $(testbed status | grep host3) == 'host3: off' ]] || fail 'status shows a crashed host as running'
! reaches 1 3 || fail 'a crashed host answers'
testbed start 3
[[ $(testbed ssh 3 'cat kept; ls /data') == 'kept'$'\n''kept' ]] || fail 'a crash lost files or a mounted disk'
reaches 1 3 || fail 'a host cannot be reached after a crash and a start'
[[ $(ansible host3 -m ping | grep -c SUCCESS) == 1 ]] || fail 'Ansible does not reach a host after a crash and a start'
ok 'a crash and a start, with a disk'

[[ $(testbed up 4 2>&1) == *'up: host1 host2 host3 host4;'* ]] || fail 'a second up failed'
testbed down
nothing_left 'after down'
ok 'down leaves nothing'

# Kill "testbed up" at different times. The processes that it started survive, as they do when a terminal is closed.
for delay in 0.2 0.7 "$((RANDOM % 3)).$((RANDOM % 10))"; do
    "$ansible/testbed/testbed" up 4 &>/dev/null &
    sleep "$delay"
    kill -KILL "$!" 2>/dev/null || true
    wait "$!" 2>/dev/null || true
    testbed down || fail "down fails after up was killed at $delay s"
    nothing_left "after a kill at $delay s"
done
testbed up 1
ok 'if up is killed, down removes everything, and the next up works'

# Processes in a foreign cgroup that has the testbed's name must not be ended.
foreign=$(find "$(findmnt -n -f -t cgroup2 -o TARGET)" -maxdepth 1 -inum "$(cat "$state/cgroup")") # the testbed of another checkout may be up
testbed down
mkdir -- "$foreign"
sleep 300 &
bystander=$!
echo "$bystander" >"$foreign/cgroup.procs"
for verb in up down; do
    ! testbed "$verb" 2>"$work/refusal" || fail "$verb accepted a foreign cgroup"
    grep -q 'was not made by' "$work/refusal" || fail "$verb does not say why it refuses a foreign cgroup: $(cat "$work/refusal")"
done
kill -0 "$bystander" || fail 'a foreign process was ended'
kill "$bystander"
wait "$bystander" || true
rmdir -- "$foreign"
foreign=
nothing_left 'after a refusal'
ok 'foreign cgroups are refused'
