#!/usr/bin/env bash
# Tests roles/service/files/service with real processes in a folder of their own; ends non-zero on the first failure.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
home="$(mktemp -d)/a home" # with a space, as users' folders have
service=$home/bin/service
mkdir -p "$home/bin" "$home/work"
cp -- "$here/../roles/service/files/service" "$service"
bystander=
cleanup() {
  "$service" stop-all 1 > /dev/null || true
  [[ -z $bystander ]] || kill "$bystander" 2> /dev/null || true
  rm -rf -- "$(dirname -- "$home")"
}
trap cleanup EXIT

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
ok() { printf 'ok: %s\n' "$*"; }

# expect CODE PATTERN COMMAND...: the exit code, and a pattern that the output must match
expect() {
  local code=$1 pattern=$2 actual=0 output
  shift 2
  output=$("$@" 2>&1) || actual=$?
  [[ $actual == "$code" ]] || fail "$*: exit code $actual instead of $code: $output"
  [[ $output =~ $pattern ]] || fail "$*: output '$output' does not match '$pattern'"
}
run() { "$service" start "$1" "$home/work" out.txt err.txt "${@:2}"; }
pid_of() { cut -d ' ' -f 1 "$home/run/$1/pid"; }
gone() { [[ ! -e /proc/$1 ]] || [[ $(sed 's/.*) //; s/ .*//' "/proc/$1/stat") == Z ]]; }

expect 0 '^$' "$service" stop-all 1
ok 'stop-all where nothing was ever started'

expect 0 '' run one bash -c 'echo started; trap "exit 7" TERM; while :; do sleep 0.05; done'
expect 0 'one runs as process' "$service" status one
expect 1 'already runs as process' run one sleep 60
expect 0 '' "$service" until one 30 grep -q started "$home/work/out.txt"
pid=$(pid_of one)
expect 0 'stopped one' "$service" stop one 30
gone "$pid" || fail 'the process is still there after stop'
expect 3 'exit code 7' "$service" status one
expect 0 '^$' "$service" stop one 30
ok 'start, refuse a second start, until, stop, status'

expect 0 '' run two bash -c 'sleep 0.3; echo "ERROR: no such host nowhere" >&2; exit 3'
expect 3 'exit code 3: ERROR: no such host nowhere' "$service" wait two 30
expect 0 '' run two sleep 60
expect 1 'still runs after 1 s' "$service" wait two 1
expect 1 'is not ready after 1 s' "$service" until two 1 false
"$service" stop two 30 > /dev/null
expect 0 '' run two bash -c 'echo "ERROR: bad configuration" >&2; exit 1'
before=$SECONDS
expect 1 'ERROR: bad configuration' "$service" until two 30 false
((SECONDS - before < 20)) || fail 'until went on waiting for a dead process'
ok 'wait returns the exit code and the last words; until ends with the process'

expect 0 '' run deaf bash -c 'trap "" TERM; echo deaf; while :; do sleep 0.05; done'
expect 0 '' "$service" until deaf 30 grep -q deaf "$home/work/out.txt"
expect 0 'killed deaf' "$service" stop deaf 1
gone "$(pid_of deaf)" || fail 'a process that ignores TERM survived'
ok 'a process that ignores TERM is killed in the end'

# The launcher and the supervisor are killed hard: the orphan is still ours and is stopped.
expect 0 '' run orphan bash -c 'sleep 300 & wait'
pid=$(pid_of orphan)
kill -KILL "$(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 2)"
expect 0 'runs as process' "$service" status orphan
expect 1 'already runs' run orphan sleep 1
child=$(cut -d ' ' -f 1 "/proc/$pid/task/$pid/children")
expect 0 'stopped orphan|killed orphan' "$service" stop-all 2
if ! gone "$pid" || ! gone "$child"; then fail 'an orphan or its child survived stop-all'; fi
expect 3 'vanished without an exit code' "$service" status orphan
ok 'leftovers of a killed launcher are found and stopped, with their children'

expect 0 '' run lost sleep 300
pid=$(pid_of lost)
rm -- "$home/run/lost/pid"
expect 0 'stopped lost' "$service" stop-all 30
gone "$pid" || fail 'a process whose pid file was lost survived'
ok 'a process whose pid file was lost is found by its mark'

expect 0 '' run server sleep 300
expect 0 '' run client sleep 300
expect 0 'stopped client.*stopped server' "$service" stop-all 30
ok 'the last one started is stopped first'

for name in other db db-part; do
  # shellcheck disable=SC2016 # the inner shell expands them
  expect 0 '' run "$name" bash -c 'trap "echo asked > asked-$0; exit 0" TERM; echo up > up-$0; while :; do sleep 0.05; done' "$name"
  expect 0 '' "$service" until "$name" 5 test -e "$home/work/up-$name"
done
expect 0 'stopped db-part.*stopped db.*stopped other' "$service" stop-all 5 db
[[ -e $home/work/asked-other && ! -e $home/work/asked-db && ! -e $home/work/asked-db-part ]] || fail 'the wrong ones were killed'
expect 3 'exit code 137' "$service" status db
ok 'whom nothing is kept of is killed at once'

# Someone else's process behind our pid file: with a wrong start time, and with the right one.
sleep 300 &
bystander=$!
for started in 1 "$(sed 's/.*) //' "/proc/$bystander/stat" | cut -d ' ' -f 20)"; do
  printf '%s %s\n' "$bystander" "$started" > "$home/run/one/pid"
  expect 3 '' "$service" status one
  expect 0 '^$' "$service" stop one 1
  expect 0 '^$' "$service" stop-all 1
  gone "$bystander" && fail 'a process that the tool did not start was killed'
done
expect 0 '' run one sleep 300
"$service" stop one 30 > /dev/null
ok 'a foreign process behind a pid file is never touched'

expect 1 'unknown verb' "$service" restart one
ok 'unknown verb'
