#!/usr/bin/env bash
# ./test.sh [all|part…]: installs what the tests need and runs them with pytest, on real servers instead of mocks.
#
#   ./test.sh           before a commit: lint, the unit tests that are not marked slow, the client's tests over one of its two
#                       loops, every binding's contract, one experiment with its report
#   ./test.sh all       everything
#   ./test.sh PART…     these parts completely:
#
#   lint      shellcheck, ruff, mypy, ansible-lint, checkstyle and javac's own warnings
#   unit      tests without a database: Python, Java, Ansible's service tool
#   contract  every binding against its real server; `./test.sh contract hbase` tests only that system
#   run       ./run.sh as users call it: the table, failures, Ctrl-C, --resume
#   cluster   four hosts on this machine (docs/testbed.md): clusters, synchronized clients, crashes. It needs root, and is
#             skipped with the reason otherwise; `./test.sh cluster hbase` tests only that system
#
# Logs and JUnit reports are in .setup/reports/. PYTEST_ADDOPTS may contain further options of pytest. Tests that would begin
# after DOHYO_UNTIL, in seconds since 1970, are skipped.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
reports="$root/.setup/reports"
unset PYTHONDONTWRITEBYTECODE # otherwise each of many programs would compile Ansible and our modules again

# Ctrl-C must not leave a server running. Each command has its own process group, and pytest cleans up after TERM.
pid=
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'trap "" INT TERM HUP; for pid in $(jobs -p); do kill -- "-$pid" "$pid" 2>/dev/null || true; done; wait' EXIT

# begin COMMAND…: runs a command in the background, because a trap waits for a command in the foreground.
begin() { setsid "$@" & }

# pytest NAME ARGUMENT…: starts pytest in analysis/; NAME is the name of the JUnit report.
pytest() {
    begin "$root/.venv/bin/python" -m pytest "${@:2}" "${options[@]}" -rs --durations=10 --junitxml="$reports/$1.xml"
}

# ended PID: waits for a pytest. Its exit code 4 means a wrong argument, such as an unknown system.
ended() {
    local code=0
    wait "$1" || code=$?
    ((code != 4)) || exit 2
    ((code == 0)) || failed+=("$part")
}

lint() { pytest lint -vv -n auto suite/test_lint.py && ended "$!"; }

# The Java tests and the scripts mostly wait, so they run beside the Python tests, which compute. The tests of one file stay in
# one process, because they share the results of Ansible.
unit() {
    local java
    pytest java -vv --timeout=1800 "${quick[@]}" suite/test_java.py suite/test_scripts.py -k 'not many_clients' >"$reports/java.out" 2>&1
    java=$!
    pytest python -n auto --dist loadfile "${quick[@]}" tests && ended "$!"
    ended "$java"
    cat -- "$reports/java.out"
    if ((${#quick[@]})); then return; fi
    pytest many-clients -vv suite/test_scripts.py -k many_clients && ended "$!"
}

contract() { pytest contract -vv --timeout=1800 "${quick[@]}" suite/test_contract.py && ended "$!"; }
run() { pytest run -vv --timeout=0 "${everyday[@]}" e2e && ended "$!"; }
cluster() { pytest cluster -vv --timeout=1800 suite/test_cluster.py && ended "$!"; }

parts=(lint unit contract run cluster) chosen=() failed=() options=() quick=() everyday=()
for word in "$@"; do
    case " all ${parts[*]} " in
        *" $word "*) if [[ $word == all ]]; then chosen=("${parts[@]}"); else chosen+=("$word"); fi ;;
        *)
            if [[ $word == -h || $word == --help ]]; then
                sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
                exit
            elif [[ ! $word =~ ^[a-z0-9-]+$ || ! -d $root/ansible/systems/${word%%-*} ]]; then
                printf 'ERROR: unknown part "%s"; there are: all %s, and systems: contract hbase\n' "$word" "${parts[*]}" >&2
                exit 2
            fi
            options+=("--system=$word")
            ;;
    esac
done
if (($# == 0)); then
    chosen=(lint unit contract run) quick=(-m 'not slow') everyday=(-m everyday)
elif ((${#chosen[@]} == 0)); then
    chosen=("${parts[@]}")
fi

for step in test client; do begin "$root/setup.sh" "$step" && wait "$!"; done
JAVA_HOME=$(readlink -f -- "$root/.setup/java")
export JAVA_HOME
mkdir -p -- "$reports"
cd -- "$root/analysis"
for part in "${chosen[@]}"; do
    SECONDS=0
    "$part"
    printf '%s took %d s\n' "$part" "$SECONDS"
done
if ((${#failed[@]})); then
    printf 'FAILED: %s\n' "${failed[*]}"
    exit 1
fi
