#!/usr/bin/env bash
# Tests that bootstrap.yml prepares a host that has only SSH for root, and no access to a mirror. Needs root, a package mirror for this
# machine, and about two minutes; the first run takes one more minute to build the image.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
testbed_or_skip
! testbed status >/dev/null || { echo 'skipped: a testbed is already up, and this test must start its own'; exit 0; }
trap 'end_jobs; testbed down || true; rm -rf -- "$work"' EXIT
testbed up --bare 2

for n in 1 2; do
    found=$(testbed ssh "$n" 'which python3 sudo java mkfs.xfs chronyd; getent passwd dohyo; true')
    [[ -z $found ]] || fail "host$n is not bare: $(xargs <<<"$found")"
done
ok 'two bare hosts'

# Create an inventory with two hosts of the testbed. Root logs in only with the password: Ansible would reuse a connection with the key.
cp -r -- inventories/testbed "$work/two"
sed -i '/host[34]:/d; /10\.66\.0\.1[34]/d' "$work/two/hosts.yml"
sed -i "s|^testbed_state:.*|testbed_state: $root/.testbed|" "$work/two/group_vars/all.yml"
bootstrap() {
    "$root/.venv/bin/ansible-playbook" -i "$work/two" bootstrap.yml -e "bootstrap_key=$root/.testbed/keys/user.pub" \
        --connection-password-file "$root/.testbed/keys/password" -e 'ansible_ssh_extra_args="-o PreferredAuthentications=password"' \
        "$@" >"$work/log" 2>&1
}
says() { # WORDS: checks that the output contains the words, which Ansible may have wrapped
    tr -s ' \n' ' ' <"$work/log" >"$work/said"
    grep -qF -- "$1" "$work/said" || { cat "$work/log" >&2; fail "does not say: $1"; }
}
refused() { # WORDS OPTION...
    ! bootstrap "${@:2}" || fail "not refused: ${*:2}"
    says "$1"
}

mkdir "$work/empty"
refused 'not one public SSH key; name its file' -e bootstrap_key=/nowhere.pub
refused 'with .deb or .rpm files' -e "bootstrap_packages=$work/empty"
ok 'refusals'

bootstrap -e bootstrap_packages=download || { cat "$work/log" >&2; fail 'bootstrap.yml'; }
! grep -qF -- "$(cat "$root/.testbed/keys/password")" "$work/log" || fail 'the output contains the password'
ok 'bootstrap with a password and packages that the control machine downloads'

quietly "$root/.venv/bin/ansible-playbook" -i "$work/two" deploy.yml --tags preflight
ok 'preflight passes when it runs as the user dohyo'

as_root() { testbed ssh 1 'dpkg-query -W; getent passwd; find /etc /home /usr/lib/jvm -type f -exec sha256sum {} + | sort -k 2'; }
as_root >"$work/before"
bootstrap -e bootstrap_packages=download || { cat "$work/log" >&2; fail 'the second bootstrap.yml'; }
! grep -E '^(host[0-9]+|localhost) .*changed=[1-9]' "$work/log" || { grep -B 3 '^changed' "$work/log" >&2; fail 'a second run of bootstrap.yml changed something'; }
as_root >"$work/after"
diff -- "$work/before" "$work/after" >&2 || fail 'a second run of bootstrap.yml changed packages, accounts or files on host1'
ok 'a second run of bootstrap.yml changes nothing'

# Create an archive with a fake JDK: this test needs only the JDK's files bin/java and release.
mkdir -p "$work/jdk/bin"
printf '#!/bin/sh\necho "    java.specification.version = 17" >&2\n' >"$work/jdk/bin/java"
chmod +x "$work/jdk/bin/java"
printf 'JAVA_RUNTIME_VERSION="17.0.99+1-test"\nJAVA_VERSION="17.0.99"\n' >"$work/jdk/release"
tar -czf "$work/jdk.tar.gz" -C "$work" jdk
archive() { printf '{"dohyo_control": "%s/control", "dohyo_jdk_archives": {"17": {"url": "%s/jdk.tar.gz", "sha256": "%s"}}}' "$work" "$work" "$1"; }
sum=$(sha256sum <"$work/jdk.tar.gz" | cut -d ' ' -f 1)
refused 'needs url (URL or local file)' -e "$(archive '')"
refused "its SHA-256 is $sum, and the given checksum says ${sum//[0-9]/0}" -e "$(archive "${sum//[0-9]/0}")"
bootstrap -e "$(archive "$sum")" --limit host1 || { cat "$work/log" >&2; fail 'bootstrap.yml with an archive'; }
! "$root/.venv/bin/ansible-playbook" -i "$work/two" deploy.yml --tags preflight >"$work/log" 2>&1 || fail 'preflight accepts hosts with different JDKs'
for line in 'host1: its JDK is 17.0.99+1-test in /usr/lib/jvm/dohyo-17, but all hosts need the same of' 'host2: its JDK is 17.'; do
    says "$line"
done
bootstrap -e "$(archive "$sum")" || { cat "$work/log" >&2; fail 'bootstrap.yml with an archive'; }
quietly "$root/.venv/bin/ansible-playbook" -i "$work/two" deploy.yml --tags preflight
ok 'all hosts have the same JDK, from an archive'
