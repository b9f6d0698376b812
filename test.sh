#!/usr/bin/env bash
# ./test.sh [all|PART…]: sets up the tools and runs the tests with pytest. They use real servers instead of mocks.
#
#   ./test.sh           before a commit: the lint, unit and contract tests that are not marked slow, and one experiment with its report
#   ./test.sh all       everything
#   ./test.sh PART…     all tests of these parts:
#
#   lint      shellcheck, ruff, mypy, ansible-lint, checkstyle, javac's warnings, and checks of the language of all texts
#   unit      Python, Java and the agent of a host, without a database
#   contract  every binding with its real server, and docs/adding-a-system.md; one system: ./test.sh contract hbase
#   hosts     two hosts on this machine that have only SSH (docs/testbed.md); needs root, otherwise skipped with a reason
#   run       ./run.sh as users call it: the table, failures, Ctrl-C, --resume
#   attach    ./run.sh with a server that Dohyo has not started
#   scenarios ./run.sh with the scenarios of published comparisons
#   cluster   four hosts on this machine: clusters, synchronized clients, crashes; needs root, like hosts;
#             one system: ./test.sh cluster hbase
#
# Linters and unit tests run in parallel with the other parts, which spend most of their time waiting.
# Logs and JUnit reports are in .setup/reports/. PYTEST_ADDOPTS may contain further options for pytest. DOHYO_UNTIL is a time in
# seconds since 1970; tests that would begin later are skipped.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
reports="$root/.setup/reports"
unset PYTHONDONTWRITEBYTECODE # otherwise each process would compile Ansible and Dohyo's modules again

# Ctrl-C must not leave a server running. Each command runs in its own process group, and pytest cleans up after TERM.
pid=
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'trap "" INT TERM HUP; for pid in $(jobs -p); do kill -- "-$pid" "$pid" 2>/dev/null || true; done; wait' EXIT

# begin COMMAND…: runs a command in the background, because a trap would run only after a foreground command has ended.
begin() { setsid "$@" & }

# pytest NAME ARGUMENT…: starts pytest in analysis/; its JUnit report is NAME.xml.
pytest() {
    begin "$root/.venv/bin/python" -m pytest "${@:2}" "${options[@]}" -rfEs --durations=10 --junitxml="$reports/$1.xml"
}

# ended NAME PID: waits for pytest. The exit code 4 means an invalid argument, such as an unknown system.
ended() {
    local code=0
    wait "$2" || code=$?
    ((code != 4)) || exit 2
    ((code == 0)) || failed+=("$1")
    printf '%s ended after %d s\n' "$1" "$SECONDS"
}

# check NAME ARGUMENT…: runs pytest in the foreground.
check() { pytest "$1" -vv --timeout=1800 "${@:2}" && ended "$1" "$!"; }

# Starts the linters and unit tests, on more workers than processors, because some tests wait. The tests of a file stay on one
# worker, because they share results of Ansible. Java's tests start first, because they take the longest.
begin_units() {
    local files=()
    if [[ " ${chosen[*]} " == *' lint '* ]]; then files+=(suite/test_lint.py tests/test_documents.py); fi
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
run() { check run --timeout=0 "${everyday[@]}" e2e --ignore=e2e/test_attach.py --ignore=e2e/test_scenarios.py; }
attach() { check attach --timeout=0 e2e/test_attach.py; }
scenarios() { check scenarios --timeout=0 e2e/test_scenarios.py; }
cluster() { check cluster suite/test_cluster.py --deselect "$hosts"; }

# Runs the tests that need all processors, and the tests of playbooks with the lowest supported release of Ansible.
alone() {
    check scripts suite/test_scripts.py
    PYTHONPATH="$root/.setup/ansible-lowest" check lowest -n "$(nproc)" --dist loadfile \
        tests/test_bootstrap.py tests/test_system_role.py tests/harm/test_destroy.py
}

hosts=suite/test_cluster.py::test_hosts
parts=(lint unit contract hosts run attach scenarios cluster) chosen=() failed=() options=() quick=() everyday=() units=
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
