#!/usr/bin/env bash
# ./test.sh [all|part…]: sets up what is needed and runs the tests with pytest. Real servers, no mocks.
#
#   ./test.sh           what to run before a commit: lint, all tests of units and contracts that are not marked slow, one experiment
#                       with its report
#   ./test.sh all       everything
#   ./test.sh PART…     the whole of these parts:
#
#   lint      shellcheck, ruff, mypy, ansible-lint, checkstyle and javac's own warnings
#   unit      what needs no database: Python, Java, the agent of a host
#   contract  every binding against its real server, and the page that adds one; `./test.sh contract hbase` tests that system alone
#   hosts     two hosts with nothing but SSH, on this machine (docs/testbed.md); needs root, and is skipped with the reason without
#   run       ./run.sh as people use it: the table, bad luck, Ctrl-C, --resume
#   attach    ./run.sh on a server that Dohyo has not started
#   cluster   four hosts on this machine: clusters, synchronized clients, crashes; needs what hosts needs;
#             `./test.sh cluster hbase` tests that system alone
#
# Linters and unit tests compute; beside them run the other parts, one after another, which wait most of the time.
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

# ended NAME PID: waits for a pytest. Its exit code 4 is a wrong word, such as the name of a system.
ended() {
    local code=0
    wait "$2" || code=$?
    ((code != 4)) || exit 2
    ((code == 0)) || failed+=("$1")
    printf '%s ended after %d s\n' "$1" "$SECONDS"
}

# check NAME ARGUMENT…: the same as pytest, and waits
check() { pytest "$1" -vv --timeout=1800 "${@:2}" && ended "$1" "$!"; }

# Some of these tests wait, so there are more workers than processors. The tests of a file stay together, because they share
# what Ansible has answered once. Java's begin early, as they wait longest.
begin_units() {
    local files=()
    if [[ " ${chosen[*]} " == *' lint '* ]]; then files+=(suite/test_lint.py); fi
    if [[ " ${chosen[*]} " == *' unit '* ]]; then files+=(suite/test_java.py tests); fi
    if ((${#files[@]} == 0)); then return; fi
    pytest units -n "$(($(nproc) + 1))" --dist loadfile --no-loadscope-reorder "${quick[@]}" "${files[@]}" >"$reports/units.out" 2>&1
    units=$!
}

units_ended() {
    if [[ -z $units ]]; then return; fi
    ended units "$units" >>"$reports/units.out"
    cat -- "$reports/units.out"
}

lint() { :; } # see begin_units
unit() { :; }
contract() { check contract "${quick[@]}" suite/test_contract.py suite/test_adding_a_system.py; }
hosts() { check hosts "$hosts"; }
run() { check run --timeout=0 "${everyday[@]}" e2e --ignore=e2e/test_attach.py; }
attach() { check attach --timeout=0 e2e/test_attach.py; }
cluster() { check cluster suite/test_cluster.py --deselect "$hosts"; }

# What needs the processors for itself, and what playbooks do with the lowest release of Ansible.
alone() {
    check scripts suite/test_scripts.py
    PYTHONPATH="$root/.setup/ansible-lowest" check lowest -n "$(nproc)" --dist loadfile \
        tests/test_bootstrap.py tests/test_system_role.py tests/harm/test_destroy.py
}

hosts=suite/test_cluster.py::test_hosts
parts=(lint unit contract hosts run attach cluster) chosen=() failed=() options=() quick=() everyday=() units=
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
begin_units
for part in "${chosen[@]}"; do "$part"; done
units_ended
if [[ " ${chosen[*]} " == *' unit '* && ${#quick[@]} == 0 ]]; then alone; fi
if ((${#failed[@]})); then
    printf 'FAILED: %s\n' "${failed[*]}"
    exit 1
fi
