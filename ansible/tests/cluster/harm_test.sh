#!/usr/bin/env bash
# Tests that foreign files on a host are never changed: data next to Dohyo's, servers, units, and folders that variables name. Needs root and about
# three minutes; must run between deploy_test.sh and destroy_test.sh if they share a testbed.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/trial.sh
. "$ansible/tests/cluster/lib/trial.sh"
use_testbed
deployed mysql-innodb

on() { testbed ssh "$@"; }
says() { # LOG REASON…: checks that a log contains the reasons; its lines may be wrapped
    local reason said
    said=$(tr -s ' \n' ' ' <"$work/$1")
    for reason in "${@:2}"; do
        grep -qE -- "$reason" <<<"$said" || { cat "$work/$1" >&2; fail "the log does not say: $reason"; }
    done
}

# ---- Folders that variables name ---------------------------------------------------------------------------------------

cleared() { for n in 1 2 3 4; do on "$n" 'while sudo umount /harm/dohyo/mysql 2>/dev/null; do :; done; sudo rm -rf /harm'; done; }
cleared # remove the leftovers of an interrupted test
on 1 'sudo mkdir -p /harm/dohyo/mysql/shop && echo precious | sudo tee /harm/dohyo/mysql/shop/orders.ibd >/dev/null'
on 2 'sudo mkdir -p /harm/dohyo /harm/theirs && sudo ln -s /harm/theirs /harm/dohyo/mysql && sudo touch /harm/theirs/precious'
on 3 'sudo mkdir -p /harm/dohyo && echo precious | sudo tee /harm/dohyo/mysql >/dev/null'
on 4 'sudo mkdir -p /harm/dohyo/mysql /harm/home && sudo mount -t tmpfs none /harm/dohyo/mysql && sudo touch /harm/dohyo/mysql/precious /harm/home/precious
    echo "{\"deployment\": \"ba9876543210\", \"controller\": \"other\", \"checkout\": \"/there\", \"at\": \"yesterday\"}" | sudo tee /harm/home/.dohyo >/dev/null'
cat >"$work/foreign.yml" <<'END_OF_INVENTORY'
all:
  hosts:
    host1: {dohyo_devices: [], dohyo_data: [/harm/]}
    host2: {dohyo_devices: [], dohyo_data: [/harm]}
    host3: {dohyo_devices: [], dohyo_data: [/harm]}
    host4: {dohyo_devices: [], dohyo_data: [/harm], dohyo_home: /harm/home}
END_OF_INVENTORY
harmed() { for n in 1 2 3 4; do on "$n" 'sudo find /harm -printf "%p %y %m %u %s %T@ %l\n" | sort; sudo find /harm -type f -exec sha256sum {} +'; done; }
harmed >"$work/before"
for attempt in 'deploy.yml --tags mysql-innodb' 'trial.yml -e trial_system=mysql-innodb' 'destroy.yml -e destroy=yes --check'; do
    # shellcheck disable=SC2086 # several words
    playbook $attempt -i "$work/foreign.yml" >"$work/log" 2>&1 && [[ $attempt != destroy* ]] && fail "not refused: $attempt"
    says log "/harm/dohyo/mysql lacks Dohyo's mark" 'contains shop; it looks like MySQL or MariaDB' \
        '/harm/dohyo/mysql is a symbolic link to /harm/theirs' '/harm/dohyo/mysql is not a folder' \
        '/harm/home belongs to deployment ba9876543210 \(other:/there, yesterday\)'
done
playbook stop.yml -i "$work/foreign.yml" >"$work/log" 2>&1 || fail 'stop.yml fails because of foreign folders'
mkdir "$work/control" && touch "$work/control/precious"
! playbook deploy.yml --tags mysql-innodb -e "dohyo_control=$work/control" >"$work/log" 2>&1 || fail 'a foreign dohyo_control was accepted'
says log "$work/control lacks Dohyo's mark"
playbook destroy.yml -e destroy=yes -e "dohyo_control=$work/control" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail destroy; }
[[ -e $work/control/precious ]] || fail 'destroy.yml emptied a foreign folder'
mkdir -p "$work/evidence/server" && touch "$work/evidence/server/precious"
! playbook trial.yml -e trial_system=mysql-innodb -e "trial_dir=$work/evidence" >"$work/log" 2>&1 || fail 'a foreign trial_dir was accepted'
says log "$work/evidence lacks Dohyo's mark"
[[ -e $work/evidence/server/precious ]] || fail 'a trial cleared a foreign folder'
harmed >"$work/after"
diff -- "$work/before" "$work/after" >&2 || fail 'a foreign file was changed'
cleared
ok 'refusals name foreign folders, links, files, mounts and marks, which are not changed'

# ---- A site's own servers next to Dohyo's -------------------------------------------------------------------------------

# Create two foreign servers below the folder that Dohyo uses. One runs as a unit with a name like Dohyo's; the other is stopped.
on 1 'sudo systemctl stop dohyo-mysql 2>/dev/null; sudo rm -rf /x /etc/systemd/system/dohyo-mysql.service; sudo install -d -o dohyo /x && bash -s' <<'END_OF_SCRIPT'
set -euo pipefail
base=$(dirname "$(dirname /opt/dohyo/install/mysql/*/server/bin/mariadbd)")
for name in shop mysql; do
    mkdir /x/$name
    { printf 'CREATE DATABASE mysql;\nUSE mysql;\n'; cat "$base"/share/{mariadb,mysql}_system_tables.sql 2>/dev/null || true
      printf 'CREATE DATABASE shop;\nCREATE TABLE shop.orders (id INT) ENGINE=MyISAM;\nINSERT INTO shop.orders VALUES (1), (2), (3);\n'; } |
        "$base/bin/mariadbd" --no-defaults --bootstrap --basedir="$base" --datadir=/x/$name >/x/$name.log 2>&1 || { tail -n 3 /x/$name.log >&2; exit 1; }
done
sudo tee /etc/systemd/system/dohyo-mysql.service >/dev/null <<END
[Service]
User=dohyo
ExecStart=$base/bin/mariadbd --no-defaults --basedir=$base --datadir=/x/shop --socket=/x/shop.sock --port=3306 --bind-address=127.0.0.1 --skip-grant-tables
END
sudo systemctl daemon-reload && sudo systemctl start dohyo-mysql
END_OF_SCRIPT
# Prints the state of the foreign servers; fails unless the running one answers with its greeting.
foreign() {
    on 1 'systemctl show --property MainPID --property ActiveState dohyo-mysql; sudo sha256sum /etc/systemd/system/dohyo-mysql.service
        sudo find /x/mysql /x/shop/shop -type f -exec sha256sum {} + | sort; timeout 5 bash -c "head -c 40 </dev/tcp/127.0.0.1/3306" | grep -ao MariaDB'
}
for ((i = 0; i < 60; i++)); do
    if on 1 'timeout 1 bash -c ": </dev/tcp/127.0.0.1/3306" 2>/dev/null'; then break; fi
    sleep 0.5
done
foreign >"$work/foreign" || fail 'the foreign server does not answer'
mkdir -p "$work/one/group_vars"
sed "s|^testbed_state:.*|testbed_state: $root/.testbed|; s|^dohyo_devices:.*|dohyo_devices: []|" inventories/testbed/group_vars/all.yml >"$work/one/group_vars/all.yml"
printf 'dohyo_data: [/x]\nmysql_port: 3307\n' >>"$work/one/group_vars/all.yml"
printf 'all:\n  children:\n    database: {hosts: {host1: {ansible_host: 10.66.0.11}}}\n    client: {children: {database: }}\n' >"$work/one/hosts.yml"
run() { # OUT [OPTION…]
    "$root/run.sh" workloadA --inventory "$work/one" --systems mysql-innodb --out "$work/$1" --records 500 --duration 3 --set threadcount=2 --set preconditioning=0 \
        --set warmuptime=1 --set target=100 --set client_heap=64m --set canary=false --set max.other.cpu=100% "${@:2}" >"$work/log" 2>&1
}

refuses_a_rival() {
    ! playbook trial.yml -e trial_system=mysql-innodb -e dohyo_deployment=ba9876543210 -e dohyo_home=/home/dohyo/other >"$work/rival.log" 2>&1 ||
        fail 'a second deployment used a host at the same time'
    says rival.log "has been at work there since .*deployment $(jq -r .deployment "$root/.dohyo/.dohyo")"
}

# deploy.yml must record on the host that it is running, and remove the record at the end.
playbook -i "$work/one" deploy.yml -e '{deploy_systems: [mysql-innodb]}' >"$work/deploy.log" 2>&1 &
until on 1 'compgen -G "/tmp/dohyo-in-use-*"' >/dev/null; do
    kill -0 "$!" 2>/dev/null || { cat "$work/deploy.log" >&2; fail 'deploy.yml did not record that it is running'; }
done
refuses_a_rival
wait "$!" || { cat "$work/deploy.log" >&2; fail 'deploy.yml'; }
! on 1 'compgen -G "/tmp/dohyo-in-use-*"' || fail 'deploy.yml did not remove its record'
ok 'no trial of another deployment begins during deploy.yml'

# Run two trials, and kill the program on the control machine during the second one.
run two --rounds 2 &
until compgen -G "$work/two/raw/02-*/run-1/host1/*.hdr" >/dev/null; do
    kill -0 "$!" 2>/dev/null || { cat "$work/log" >&2; fail 'run.sh ended before it measured'; }
    sleep 0.2
done
pid=$(cat "$root/results/.lock")
pid=${pid%%[!0-9]*}
# Pause the play, so that the trial does not end before the checks. Its worker, which conducts the trial, is paused first.
play=$(pgrep -P "$pid" -f ansible-playbook)
worker=$(pgrep -P "$play" -f ansible-playbook)
kill -STOP "$worker" "$play"
! playbook destroy.yml -e destroy=yes >"$work/destroy.log" 2>&1 || fail 'destroy.yml ignored a running trial'
says destroy.log "has been at work there since .*$root"
refuses_a_rival
kill -KILL "$pid"
kill -CONT "$play" "$worker"
wait "$!" || true
"$root/run.sh" --resume "$work/two" --keep >"$work/log" 2>&1 || { cat "$work/log" >&2; fail 'the two trials could not be resumed'; }
diff -- "$work/foreign" <(foreign) >&2 || fail 'two trials changed foreign data'
ok 'two trials, a crash and --resume do not affect a running foreign server, or the data of a stopped one'

# Add a user's data to servers that were kept running.
on 1 'mkdir /x/dohyo/mysql/data/shop && echo precious >/x/dohyo/mysql/data/shop/orders.ibd'
! run next --rounds 1 || fail 'run.sh accepted servers that contain foreign data'
says log '/x/dohyo/mysql/data/shop was not made by a trial'
on 1 'grep -q precious /x/dohyo/mysql/data/shop/orders.ibd && rm -r /x/dohyo/mysql/data/shop' || fail 'data in servers that were kept running is gone'
ok 'a database that no trial created is not removed with the servers that were kept running'

quietly playbook -i "$work/one" destroy.yml -e destroy=yes --limit host1
says log '/etc/systemd/system/dohyo-mysql.service is a unit of another deployment, or of none'
diff -- "$work/foreign" <(foreign) >&2 || fail 'destroy.yml changed foreign data'
[[ $(on 1 'ls -A /x /opt 2>/dev/null | grep -x dohyo; true') == '' ]] || fail 'destroy.yml left some files that Dohyo created'
on 1 'sudo systemctl stop dohyo-mysql && sudo rm -r /etc/systemd/system/dohyo-mysql.service /x && sudo systemctl daemon-reload'
ok 'destroy.yml leaves the foreign servers unchanged'
