# shellcheck shell=bash
# For tests of one trial on the testbed's four hosts; sourced after testbed.sh.
# shellcheck disable=SC2154 # of testbed.sh
evidence=$work/evidence

# trial VARIABLES: a short one, with four clients, its evidence in $evidence; VARIABLES as JSON. How exactly the clients
# begin together is not the matter here, nor is speed.
trial() {
    quietly playbook trial.yml -e "{trial_dir: $evidence, trial_threads: 2, trial_warmup: 2, trial_duration: 5}" \
        -e '{trial_client_heap: 96m, client_skew_limit_ms: 5000, mysql_log_file: 64m}' \
        -e '{trial_properties: {recordcount: 4000, requestdistribution: zipfian, readproportion: 0.5, updateproportion: 0.5}}' \
        -e "$1"
    cp "$work/log" "$work/trial"
}

# condition NAME PATTERN: what the servers have stated
condition() {
    local found
    found=$(jq -r --arg name "$1" '.[$name] | if type == "array" then join("; ") else tostring end' "$evidence/conditions.json")
    # shellcheck disable=SC2053 # it is a pattern
    [[ $found == $2 ]] || fail "condition $1 is \"$found\", not \"$2\""
}

# Every client of the run has worked, and no operation has failed.
all_worked() {
    local host
    for host in host1 host2 host3 host4; do
        jq -e '.operations > 0 and .failed_operations == 0' "$evidence/run-1/$host/client.json" >"$work/log" ||
            fail "$host: $(jq -c '{operations, failed_operations}' "$evidence/run-1/$host/client.json")"
    done
}

no_secrets() {
    if grep -rlE '(password|passwd|secret)=.|IDENTIFIED BY' "$evidence" "$work/trial"; then fail 'a secret has come home'; fi
}

# wiped ROLE: nothing of the trial is left on a host
wiped() {
    local n
    for n in 1 2 3 4; do
        if testbed ssh "$n" "ls -d /dohyo/*/$1 dohyo/data/$1 dohyo/run/$1 dohyo/run/*.properties dohyo/secret/* 2>/dev/null"; then
            fail "host$n still has the above"
        fi
    done
}
