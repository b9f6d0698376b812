#!/usr/bin/env bash
# ./test.sh [all|part…]: sets up what is needed and runs the tests. Real servers, no mocks.
#
#   ./test.sh           what to run before a commit: lint, the unit tests that are not marked slow, those of the client over one of
#                       its two loops, every binding's contract, one experiment with its report
#   ./test.sh all       everything; .ci/run calls it
#   ./test.sh --minutes N all   the same, but after N minutes nothing more is begun: it is skipped, and said to be
#   ./test.sh --twice all   the same, but a check that fails is run once more; one that passes then is called flaky
#   ./test.sh PART…     the whole of these parts:
#
#   lint      shellcheck, ruff, mypy, ansible-lint, checkstyle and javac's own warnings
#   unit      what needs no database: Python, Java, Ansible's service tool
#   contract  every binding against its real server; `./test.sh contract hbase` tests that system alone
#   run       ./run.sh as people use it: the table, bad luck, Ctrl-C, --resume
#   cluster   four hosts on this machine (docs/testbed.md): clusters, synchronized clients, crashes; needs root, and is
#             skipped with the reason without; `./test.sh cluster hbase` tests that system alone
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
parts=(lint unit contract run cluster)
reports="$root/.setup/reports"
unset PYTHONDONTWRITEBYTECODE # else each of many programs would compile Ansible and ours anew
servers_up=false testbed_up=false

# Ctrl-C must not leave a server behind either; run.sh stops its own.
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'trap "" INT TERM HUP; end_jobs; if $servers_up; then playbook stop.yml >/dev/null; fi; if $testbed_up; then testbed_down; fi' EXIT

# Ends the checks with all that they have started; run.sh takes a while to stop its servers.
end_jobs() {
    local pid pids until=$((EPOCHSECONDS + 120))
    mapfile -t pids < <(descendants $$)
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do
        while kill -0 "$pid" 2>/dev/null && ((EPOCHSECONDS < until)); do sleep 0.1; done
    done
}

descendants() {
    local child children
    read -rd '' -a children < <(cat /proc/"$1"/task/*/children 2>/dev/null) || true
    for child in "${children[@]}"; do
        echo "$child"
        descendants "$child"
    done
}

# check NAME COMMAND...: one line per check, its output only when it fails. Test cases are counted from the JUnit
# reports that the command leaves (pytest's is $reports/NAME.xml); a check without any counts as one. Checks may run
# in parallel, but only one that uses Maven: each prints its output in one piece, and appends its result to a file.
check() {
    local name=$1 log="$reports/$1.log" code=0 cases bad places
    shift
    if is_late; then
        printf 'skipped %s: %d minutes are over\n' "$name" "$minutes"
        return
    fi
    mapfile -t places < <(places_of_reports "$name")
    find "${places[@]}" -name '*.xml' -delete 2>/dev/null || true
    SECONDS=0
    waited "$@" >"$log" 2>&1 || code=$?
    if ((code)) && $twice && ! is_late; then
        { cat "$log"; printf '\n%s failed after %d s; it is run once more\n' "$name" "$SECONDS"; } >"$log.first"
        cat "$log.first"
        code=0
        mapfile -t places < <(places_of_reports "$name")
        find "${places[@]}" -name '*.xml' -delete 2>/dev/null || true
        # Of pytest's cases only those that failed: all of the unit tests take a quarter of an hour.
        PYTEST_ADDOPTS=--last-failed waited "$@" >"$log" 2>&1 || code=$?
        if ((code == 0)); then printf 'flaky: %s\n' "$name" >>"$reports/flaky"; fi
    fi
    if ((code == 0)) && grep -q '^skipped: ' "$log"; then
        printf 'skipped %s: %s\n' "$name" "$(sed -n 's/^skipped: //p' "$log")"
        return
    fi
    mapfile -t places < <(places_of_reports "$name") # Maven has made its folders
    read -r cases bad < <(read_reports "${places[@]}")
    if ((cases == 0)); then
        printf '%d %s\n' "$SECONDS" "$name" >>"$reports/seconds"
    fi
    if ((code != 0 && bad == 0)); then
        bad=1
    fi
    if ((cases < bad || cases == 0)); then
        cases=$((cases + 1))
    fi
    printf '%d %d\n' "$((cases - bad))" "$bad" >>"$reports/ended"
    [[ -z $(tail -c 1 "$log") ]] || echo >>"$log" # Maven ends with a colour and no line
    printf '%s %s: %d of %d passed in %d s\n' "$( ((code == 0)) && echo ok || echo FAILED)" "$name" "$((cases - bad))" "$cases" "$SECONDS" >>"$log"
    if ((code == 0)); then
        tail -n 1 "$log"
    else
        cat "$log"
    fi
}

# A trap waits for what runs in the foreground, so nothing does.
waited() { aside "$@" & wait "$!"; }

# In the background: a shell that Ctrl-C ended would leave what it has started to nobody.
aside() { trap wait INT; "$@"; }

is_late() { ((minutes && EPOCHSECONDS - started > minutes * 60)); }

# places_of_reports NAME: where the JUnit reports of a check are, a file or folders.
places_of_reports() {
    if [[ $1 == maven || $1 == contract-* ]]; then
        printf '%s\n' "$root"/ycsb-bindings/*/target/{surefire,failsafe}-reports
    else
        printf '%s\n' "$reports/$1.xml"
    fi
}

# read_reports PLACE...: prints the number of test cases in these reports, or folders of them, and how many of them failed;
# skipped ones are neither. Adds the seconds that each took to a file.
read_reports() {
    "$root/.venv/bin/python" - "$reports" "$@" <<'END'
import pathlib, sys
from xml.etree import ElementTree

places = [pathlib.Path(place) for place in sys.argv[2:]]
reports = [file for place in places for file in ([place] if place.is_file() else place.glob("*.xml"))]
cases = []
for file in reports:
    try:
        cases += [case for case in ElementTree.parse(file).iter("testcase") if case.find("skipped") is None]
    except ElementTree.ParseError:
        pass  # of a program that was killed; its exit code says so
with open(sys.argv[1] + "/seconds", "a", encoding="utf-8") as seconds:
    for case in cases:
        print(case.get("time"), case.get("classname"), " ".join(case.get("name").split()), file=seconds)
print(len(cases), sum(case.find("failure") is not None or case.find("error") is not None for case in cases))
END
}

python() { (cd -- "$root/analysis" && "$root/.venv/bin/python" "$@"); }
playbook() { (cd -- "$root/ansible" && "$root/.venv/bin/ansible-playbook" "$@"); }
maven() { mvn -q -B --strict-checksums -f "$root/ycsb-bindings/pom.xml" "$@"; }

# Every shell script of the checkout, by its ending or its first line.
shell_scripts() {
    find "$root" -mindepth 1 \( -name .git -o -name .venv -o -name .setup -o -name .dohyo -o -name .testbed -o -name results -o -name target \) -prune -o \
        -type f \( -name '*.sh' -o ! -name '*.*' \) -exec grep -lE -m 1 '^#!.*[/ ](ba)?sh$' {} +
}

shellcheck() { cd -- "$root" && shell_scripts | xargs -d '\n' "$root/.venv/bin/shellcheck"; }

run_lint() {
    aside check shellcheck shellcheck &
    aside check ruff ruff_check &
    aside check ruff-format python -m ruff format --check --config pyproject.toml . ../ansible/plugins ../benchmarks ../ycsb-bindings &
    aside check mypy python -m mypy &
    aside check ansible-lint ansible_lint &
    aside check checkstyle maven validate &
    wait
}

# Ansible's modules may meet an old Python on a host, where os.path is as good as pathlib.
ruff_check() {
    python -m ruff check --config pyproject.toml --extend-per-file-ignores '../ansible/plugins/**:PTH' \
        . ../ansible/plugins ../benchmarks ../ycsb-bindings
}

ansible_lint() {
    (cd -- "$root/ansible" && PATH="$root/.venv/bin:$PATH" ansible-lint --offline --profile production)
}

run_unit() {
    # A file's tests stay together: they share what Ansible has said once, and what they do to ports and to setup.sh's lock.
    aside check pytest python -m pytest -n auto --dist loadfile --junitxml="$reports/pytest.xml" "${unmarked[@]}" &
    aside run_waiting &
    wait
    if $everyday; then return; fi
    check many-clients python ../benchmarks/many_clients.py --clients 12 --rounds 1 --seconds 5 --launch-interval 0.2
}

# The unit tests that wait for time to pass more than they compute, so they run beside those that compute.
run_waiting() {
    local script
    if $everyday; then
        # The same tests run over the other loop, ClientOnEventsTest and KnownTruthOnEventsTest.
        check maven maven test '-Dtest=*Test,!ClientTest,!KnownTruthTest' -Dsurefire.failIfNoSpecifiedTests=false
        return
    fi
    check maven maven test
    for script in "$root"/ansible/tests/*.sh; do
        check "$(basename -- "$script" .sh)" "$script"
    done
}

run_contract() {
    local system binding reason seen=
    while read -r system binding reason; do
        # Of systems with the same binding the first one, unless another is named.
        if [[ " ${only[*]:-$system} " != *" $system "* ]] || { ((${#only[@]} == 0)) && [[ $seen == *" $binding "* ]]; }; then
            continue
        fi
        seen+=" $binding "
        if [[ -n $reason ]]; then
            printf 'skipped contract-%s: %s\n' "$system" "$reason"
        else
            check_contract "$system" "$binding"
        fi
    done < <(python -c 'if True:
        from dohyo.ansible import available
        from dohyo.scenario import systems
        reasons = available.ask(None)
        for system in systems.all_systems().values():
            print(system.name, system.binding, reasons[system.name])')
    # ScyllaDB's driver speaks to Cassandra as well: so it is proven also where there is no ScyllaDB.
    if ((${#only[@]} == 0)) && ! $everyday; then
        check_contract cassandra scylla scylla-driver
    fi
}

# check_contract SYSTEM BINDING [NAME]
check_contract() {
    servers_up=true
    check "contract-${3:-$1}" contract "$1" "$2"
    servers_up=false
}

# contract SYSTEM BINDING: a binding against a real server, which is stopped whatever happens. The unit tests had their turn (-Dtest=none).
contract() {
    local code=0 data
    # In a folder of its own: what these tests leave in the server was made by no trial, and no trial would remove it.
    data=$(mktemp -d -p "$root/.setup")
    chmod 755 -- "$data" # the server may run as another user
    playbook deploy.yml -e "{deploy_systems: [$1]}" &&
        playbook trial.yml -e "trial_system=$1 trial_until=schema" -e "{dohyo_data: ['$data']}" -e @tests/quick_start.yml &&
        maven verify -Pcontract -pl "$2" -am -Dtest=none -Dsurefire.failIfNoSpecifiedTests=false \
            "-Dit.test=dohyo/$2/**/*IT" -Dfailsafe.failIfNoSpecifiedTests=false \
            "-Ddohyo.server=$root/.dohyo/run/$1.properties" || code=$?
    playbook stop.yml || code=$?
    rm -rf -- "$data"
    return "$code"
}

# The tests have limits of time of their own.
run_run() {
    local file name
    if $everyday; then
        check end-to-end python -m pytest e2e -m everyday --timeout=0 --junitxml="$reports/end-to-end.xml"
        return
    fi
    for file in "$root"/analysis/e2e/test_*.py; do
        name="end-to-end-$(basename -- "$file" .py)"
        check "$name" python -m pytest "$file" --timeout=0 --junitxml="$reports/$name.xml"
    done
}

# The testbed's own test and that of bare hosts come first, as they want none; the others share one, and what the second deploys to its hosts.
run_cluster() {
    local tests="$root/ansible/tests/cluster" name names=(deploy clients cassandra faults hbase mysql postgresql aerospike harm destroy clock)
    if ((${#only[@]})); then
        names=("${only[@]/%-*/}")
    else
        check testbed_test "$tests/testbed_test.sh"
        check bootstrap_test "$tests/bootstrap_test.sh"
    fi
    testbed_up=true
    "$root/ansible/testbed/testbed" up 4 3 >"$reports/testbed.log" 2>&1 || true # the tests say why there is none
    for name in "${names[@]}"; do
        check "${name}_test" "$tests/${name}_test.sh"
    done
    testbed_down
}

testbed_down() {
    "$root/ansible/testbed/testbed" down
    testbed_up=false
}

minutes=0 started=$EPOCHSECONDS twice=false
if [[ ${1:-} == --twice ]]; then
    twice=true
    shift
fi
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit
fi
if [[ ${1:-} == --minutes ]]; then
    if ! [[ ${2:-} =~ ^[1-9][0-9]{0,4}$ ]]; then
        printf 'ERROR: --minutes %s: must be a whole number from 1\n' "${2:-}" >&2
        exit 2
    fi
    minutes=$2
    shift 2
fi
chosen=() only=() everyday=false unmarked=()
for word in "$@"; do
    if [[ $word == all ]]; then
        chosen=("${parts[@]}")
    elif [[ " ${parts[*]} " == *" $word "* ]]; then
        chosen+=("$word")
    # A system is a folder, or one of the variants that its description has.
    elif grep -q "^  $word: {title:" "$root"/ansible/systems/*/system.yml ||
        { [[ -e $root/ansible/systems/$word/system.yml ]] && ! grep -q '^variants:' "$root/ansible/systems/$word/system.yml"; }; then
        only+=("$word")
    else
        printf 'ERROR: unknown part "%s"; there are: all %s\n' "$word" "${parts[*]}" >&2
        exit 2
    fi
done
if (($# == 0)); then
    everyday=true unmarked=(-m 'not slow') chosen=(lint unit contract run)
elif ((${#chosen[@]} == 0)); then
    chosen=("${parts[@]}")
fi

waited "$root/setup.sh" test
waited "$root/setup.sh" client
JAVA_HOME=$(readlink -f -- "$root/.setup/java")
export JAVA_HOME
mkdir -p -- "$reports"
: >"$reports/ended"
: >"$reports/flaky"
: >"$reports/seconds"
for part in "${chosen[@]}"; do
    began=$EPOCHSECONDS
    "run_$part"
    printf '%s took %d s\n' "$part" "$((EPOCHSECONDS - began))"
done
printf 'the slowest, in seconds:\n'
sort -rn -- "$reports/seconds" | sed -n 1,10p
cat -- "$reports/flaky"
awk '{ passed += $1; failed += $2 } END { printf "%d passed, %d failed\n", passed, failed; exit (failed > 0) }' "$reports/ended"
