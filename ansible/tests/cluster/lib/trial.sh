# shellcheck shell=bash
# Functions for tests of systems on the testbed's four hosts. Source this file after testbed.sh.
# shellcheck disable=SC2154 # testbed.sh sets the variables

# experiment OUT SYSTEM [OPTION…]: runs a small experiment with ./run.sh, with clients on all four hosts; sets $evidence to the trial's folder
experiment() {
    local code=0
    "$root/run.sh" workloadA --inventory inventories/testbed --systems "$2" --out "$work/$1" --records 1000 --rounds 1 \
        --set preconditioning=0 --set threadcount=4 --set warmuptime=1 --duration 5 --set client_heap=128m --set max.other.cpu=100% --set canary=false "${@:3}" >"$work/$1.log" 2>&1 || code=$?
    evidence=$(echo "$work/$1"/raw/*)
    return "$code"
}

# works OUT SYSTEM [OPTION…]: runs an experiment, checks that its table is complete, and keeps the servers running. The experiment also
# runs deploy.yml, which must change nothing, because all systems have been deployed before.
works() {
    experiment "$@" --keep --set target=400 || { log_of "$1"; fail "./run.sh workloadA --systems $2 ${*:3}"; }
    if grep -E '^(host[0-9]+|localhost) .*changed=[1-9]' "$work/$1/deploy/ansible.log"; then
        grep -B 3 '^changed:' "$work/$1/deploy/ansible.log"
        fail 'the second deploy.yml changed something'
    fi
    look "$1" <<'END'
hosts = ["host1", "host2", "host3", "host4"]
assert trial["status"] == "ok", trial["reason"]
assert trial["conditions"]["clients"] == 4, trial["conditions"]
for operation in ["READ", "UPDATE"]:
    of_run = lambda rows: [row for row in rows if row["phase"] == "run" and row["operation"] == operation]
    [total] = of_run(trial["rows"])
    assert total["errors"] == total["not_found"] == 0, total
    assert [client["host"] for client in trial["clients"]] == hosts, trial["clients"]
    clients = [row for client in trial["clients"] for row in of_run(client["rows"])]
    assert len(clients) == 4 and sum(row["operations"] for row in clients) == total["operations"] > 0, (clients, total)
    assert total["p90_ms"] and all(row["p50_ms"] for row in clients), clients
used = [use for use in trial["hosts"] if use["phase"] == "run"]
assert [use["host"] for use in used] == hosts and all(use["covered_seconds"] > 3 for use in used), used
assert all(use["figures"]["cpu_idle"]["mean"] < 1 and use["devices"] for use in used), used
[overall] = [row for row in trial["rows"] if row["phase"] == "run" and row["operation"] == "OVERALL"]
assert overall["server_cpu_us_per_record"] > 0 and overall["client_cpu_us_per_record"] > 0, overall
assert [(node["host"], node["state"]) for node in trial["nodes"]] == [(host, "ran") for host in hosts], trial["nodes"]
END
}

# log_of OUT: prints the output of run.sh and the last lines of every server log
log_of() {
    cat "$work/$1.log"
    find "$work/$1"/raw/*/server '(' -name '*.log' -o -name log ')' -print -exec tail -n 40 {} \;
} >&2

# look OUT: runs a Python script from standard input; its variable "trial" contains the summary's only trial
look() {
    "$root/.venv/bin/python" -c 'import json, sys
[trial] = json.load(open(sys.argv[1]))["trials"]
exec(sys.stdin.read())' "$work/$1/summary.json" || { cat "$work/$1.log" >&2; fail "$1: see the assertion above"; }
}

# condition NAME PATTERN: checks a condition that the servers reported
condition() {
    local found
    found=$(jq -r --arg name "$1" '.[$name] | if type == "array" then join("; ") else tostring end' "$evidence/conditions.json")
    # shellcheck disable=SC2053 # the right side is a pattern
    [[ $found == $2 ]] || fail "condition $1 is \"$found\", not \"$2\""
}

no_secrets() {
    if grep -rlE '(password|passwd|secret)=.|IDENTIFIED BY' "$evidence"; then fail 'the evidence contains a secret'; fi
}

# Stops all servers and clients; the next trial, or destroy.yml, removes the data.
stopped() {
    quietly playbook stop.yml
    nothing_runs
}

# wiped ROLE [HOST…]: checks that no files of the trial are left on these hosts (by default on all). Certificates are kept, because they belong to the inventory
wiped() {
    local n role=$1
    shift
    (($#)) || set -- 1 2 3 4
    for n in "$@"; do
        testbed ssh "$n" "ls -d /dohyo/*/dohyo/$role /opt/dohyo/data/dohyo/$role /opt/dohyo/run/$role /opt/dohyo/run/*.properties /opt/dohyo/secret/$role 2>/dev/null; true" >"$work/left" || fail "host$n: its files cannot be listed"
        [[ ! -s $work/left ]] || fail "host$n still has $(xargs <"$work/left")"
    done
}

# inserts SYSTEM MODULE BINDING MILLISECONDS: inserts a record from host1; fails unless it is acknowledged within that time
inserts() {
    testbed ssh 1 "cd /opt/dohyo && java -cp 'bundle/$2/*' site.ycsb.Client -load -db dohyo.$2.$3 \
        -P run/$1.properties -p workload=site.ycsb.workloads.CoreWorkload -p recordcount=5000 \
        -p operationtimeout=$4 -p insertstart=4500 -p insertcount=1 2>&1" | grep '\[INSERT\], Return=OK, 1'
}
