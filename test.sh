#!/usr/bin/env bash
# ./test.sh [all|part…]: sets up what is needed and runs the tests with pytest. Real servers, no mocks.
#
#   ./test.sh           what to run before a commit: lint, the unit tests that are not marked slow, those of the client over one of
#                       its two loops, every binding's contract, one experiment with its report
#   ./test.sh all       everything
#   ./test.sh PART…     the whole of these parts:
#
#   lint      shellcheck, ruff, mypy, ansible-lint, checkstyle and javac's own warnings
#   unit      what needs no database: Python, Java, the agent of a host
#   contract  every binding against its real server; `./test.sh contract hbase` tests that system alone
#   run       ./run.sh as people use it: the table, bad luck, Ctrl-C, --resume
#   cluster   four hosts on this machine (docs/testbed.md): clusters, synchronized clients, crashes; needs root, and is
#             skipped with the reason without; `./test.sh cluster hbase` tests that system alone
#
# Logs and JUnit reports are in .setup/reports/. PYTEST_ADDOPTS has further options of pytest. With DOHYO_UNTIL, in seconds since
# 1970, tests that would begin later are skipped.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
reports="$root/.setup/reports"
unset PYTHONDONTWRITEBYTECODE # otherwise each of many programs would compile Ansible and our modules again

# Ctrl-C must not leave a server behind. Each command has a process group of its own, and pytest cleans up after TERM.
pid=
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'trap "" INT TERM HUP; for pid in $(jobs -p); do kill -- "-$pid" "$pid" 2>/dev/null || true; done; wait' EXIT

# begin COMMAND…: in the background, because a trap waits for the command in the foreground.
begin() { setsid "$@" & }

# pytest NAME ARGUMENT…: begins pytest in analysis/; its JUnit report has that name.
pytest() {
    begin "$root/.venv/bin/python" -m pytest "${@:2}" "${options[@]}" -rs --durations=10 --junitxml="$reports/$1.xml"
}

# ended PID: waits for a pytest. Its exit code 4 is a wrong word, such as the name of a system.
ended() {
    local code=0
    wait "$1" || code=$?
    ((code != 4)) || exit 2
    ((code == 0)) || failed+=("$part")
}

lint() { pytest lint -vv -n auto suite/test_lint.py && ended "$!"; }

# The Java tests, the scripts and the contracts wait most of the time, so the Python tests run beside them, until the next part
# begins or all have ended. These wait at times, too: there are more workers than processors. The tests of a file stay
# together, because they share what Ansible has answered once.
unit() {
    pytest python -n "$(($(nproc) + 2))" --dist loadfile "${quick[@]}" tests >"$reports/python.out" 2>&1
    python=$!
    pytest java -vv --timeout=1800 "${quick[@]}" suite/test_java.py suite/test_scripts.py -k 'not many_clients' && ended "$!"
}

python_ended() {
    local part=unit
    if [[ -z $python ]]; then return; fi
    ended "$python"
    python=
    cat -- "$reports/python.out"
    if ((${#quick[@]})); then return; fi
    pytest many-clients -vv suite/test_scripts.py -k many_clients && ended "$!"
    # What playbooks do with Jinja depends on Ansible's release.
    PYTHONPATH="$root/.setup/ansible-lowest" pytest lowest -n "$(nproc)" --dist loadfile \
        tests/test_bootstrap.py tests/test_system_role.py tests/harm/test_destroy.py && ended "$!"
}

contract() { pytest contract -vv --timeout=1800 "${quick[@]}" suite/test_contract.py && ended "$!"; }
run() { pytest run -vv --timeout=0 "${everyday[@]}" e2e && ended "$!"; }
cluster() { pytest cluster -vv --timeout=1800 suite/test_cluster.py && ended "$!"; }

parts=(lint unit contract run cluster) chosen=() failed=() options=() quick=() everyday=() python=
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
    if [[ $part != contract ]]; then python_ended; fi
    "$part"
    printf '%s ended after %d s\n' "$part" "$SECONDS"
done
python_ended
if ((${#failed[@]})); then
    printf 'FAILED: %s\n' "${failed[*]}"
    exit 1
fi
