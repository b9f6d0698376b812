#!/usr/bin/env bash
# Tests clients on four hosts without a database. They must begin together. If a host or the controller is lost, all clients must end
# long before their planned end, and no process may keep running. Needs root and about a minute.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
use_testbed

# begin NAME SECONDS: starts clients for SECONDS in the background, and waits until all of them measure
begin() {
    local n
    # Use exec, so that the test later kills Ansible's process instead of the shell that started it.
    (exec "$root/.venv/bin/ansible-playbook" -i inventories/testbed clients.yml --skip-tags install \
        -e "clients_results=$work/$1" -e "clients_duration=$2" \
        -e dohyo_min_free_gb=0.1 >"$work/$1.log" 2>&1) &
    player=$!
    for n in 1 2 3 4; do
        until [[ -s $work/$1/run-1/host$n/READ.hdr ]]; do
            kill -0 "$player" 2>/dev/null || { cat "$work/$1.log" >&2; fail "$1: the clients did not begin"; }
            sleep 0.2
        done
    done
    began=$SECONDS
}

# ends NAME EXIT SECONDS [WORDS]: checks that the play ends with that exit code within that time, and that its result contains the words
ends() {
    local code=0
    wait "$player" || code=$?
    ((code == $2)) || { cat "$work/$1.log" >&2; fail "$1: exit code $code instead of $2"; }
    ((SECONDS - began <= $3)) || fail "$1: it took $((SECONDS - began)) s"
    grep -qF -- "${4:-}" "$work/$1/run-1/clients.json" || { cat "$work/$1/run-1/clients.json" >&2; fail "$1: the result does not contain '$4'"; }
}

nothing_left_on() {
    local n end=$((SECONDS + 60))
    for n in "$@"; do
        # Because of the brackets, pgrep does not find its own shell.
        while testbed ssh "$n" "pgrep -f '[d]ohyo.client.Client|[b]in/agent' || ((\$? == 1))" >"$work/pids" || fail "host$n: its processes cannot be listed"; do
            [[ -s $work/pids ]] || break
            ((SECONDS < end)) || fail "these processes are still running on host$n: $(xargs <"$work/pids")"
            sleep 0.5
        done
    done
}

# Install the clients, and run them undisturbed.
quietly playbook clients.yml -e "clients_results=$work/quiet" -e dohyo_min_free_gb=0.1
"$root/.venv/bin/python" - "$work/quiet/run-1" <<'END'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
clients = json.loads((folder / "clients.json").read_text())
assert clients["valid"], clients
assert sorted(clients["clients"]) == ["host1", "host2", "host3", "host4"], clients
# All hosts of the testbed share this machine's clock, so the measured offsets must be almost zero.
assert all(abs(c["offset_ms"]) <= c["offset_error_ms"] + 1 for c in clients["clients"].values()), clients
print(f'start skew {clients["start_skew_ms"]} ms, end skew {clients["end_skew_ms"]} ms')
END
nothing_left_on 1 2 3 4
ok 'four clients begin together'

begin frozen 600
testbed freeze 3
ends frozen 2 300 'host3 vanished'
nothing_left_on 1 2 4
testbed thaw 3
nothing_left_on 3
ok 'a host that hangs ends the run for all clients; when the host continues, its client ends'

begin orphaned 600
kill -KILL "$player"
wait "$player" 2>/dev/null || true
nothing_left_on 1 2 3 4
ok 'no process keeps running after the controller was killed'

begin crashed 600
testbed crash 4
ends crashed 2 300 'host4 vanished'
nothing_left_on 1 2 3
testbed start 4
ok 'if a host crashes, the run ends for all clients'
