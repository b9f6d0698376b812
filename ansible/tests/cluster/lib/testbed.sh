# shellcheck shell=bash
# Functions for the tests on four hosts, which source this file. A testbed that is already up is used and stays up, so that several
# tests can share it. Otherwise the test starts one and removes it at the end.
ansible=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd -P)
# shellcheck disable=SC2034 # tests that source this file use it
root=${ansible%/*}
cd -- "$ansible" || exit
work=$(mktemp -d)
SECONDS=0

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
ok() { printf 'ok: %s (%d s)\n' "$*" "$SECONDS"; }
testbed() { "$ansible/testbed/testbed" "$@"; }
playbook() { "$root/.venv/bin/ansible-playbook" -i inventories/testbed "$@"; }

# Skips the test, and prints the reason, if a testbed cannot run on this machine.
testbed_or_skip() {
    ((EUID == 0)) || { echo 'skipped: the testbed needs root'; exit 0; }
    "$ansible/testbed/tools.sh" || { echo 'skipped: the tools are missing, see above'; exit 0; }
    if ! unshare --net --mount true 2>/dev/null || [[ ! -w $(findmnt -n -f -t cgroup2 -o TARGET) ]]; then
        echo 'skipped: namespaces and cgroups cannot be created here'
        exit 0
    fi
}

use_testbed() {
    testbed_or_skip
    if testbed status >/dev/null; then
        trap 'end_jobs; rm -rf -- "$work"' EXIT
    else
        trap 'end_jobs; testbed down || true; rm -rf -- "$work"' EXIT
    fi
    testbed up
}

# Ends the background jobs of a failed test and waits for them, because an experiment stops its servers before it ends. A job may be a shell
# function whose program is a child process.
end_jobs() {
    local job
    for job in $(jobs -p); do pkill -TERM -P "$job" || kill "$job" 2>/dev/null || true; done
    wait
}

# quietly COMMAND...: shows the command's output only if it fails
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$*"; }; }

# deployed SYSTEM: deploys the system unless it is already on the testbed
deployed() {
    if ! testbed ssh 4 test -e "/opt/dohyo/bundle/${1%%-*}"; then
        quietly playbook deploy.yml -e "{deploy_systems: [$1]}"
        ok 'deployed'
    fi
}

# Checks that no server listens on all interfaces, except sshd on the testbed's hosts.
listens_privately() {
    local n
    for n in 1 2 3 4; do
        testbed ssh "$n" ss -ltnH >"$work/listening" || fail "host$n: its sockets cannot be listed"
        awk '$4 ~ /^(0\.0\.0\.0|\*|\[::\]):/ && $4 !~ /:22$/ { print $4 }' "$work/listening" >"$work/public"
        [[ ! -s $work/public ]] || fail "host$n listens on all interfaces: $(xargs <"$work/public")"
    done
}

# Checks that no process of a trial runs on any host.
nothing_runs() {
    local n
    for n in 1 2 3 4; do
        testbed ssh "$n" 'ps -u dohyo -o comm= | grep -xE "java|mariadbd|mysqld|asd"
            pgrep -u dohyo -f "[m]odules/agent.py sample"
            systemctl list-units --plain --no-legend --state=running "dohyo-*.service"; true' >"$work/running" || fail "host$n: its processes cannot be listed"
        [[ ! -s $work/running ]] || fail "host$n still runs $(xargs <"$work/running")"
    done
}
