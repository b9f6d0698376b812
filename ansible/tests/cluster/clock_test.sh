#!/usr/bin/env bash
# Tests that deploy.yml installs chrony if the clock is not synchronised, and that destroy.yml restores the time service that chrony
# replaced. Needs root and about a minute. Must be the last test on a shared testbed, because it changes host1's packages.
set -euo pipefail
# shellcheck source=ansible/tests/cluster/lib/testbed.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/testbed.sh"
# shellcheck source=ansible/tests/cluster/lib/hosts.sh
. "$ansible/tests/cluster/lib/hosts.sh"
use_testbed
[[ $(on 1 timedatectl show --property NTPSynchronized --value) == no ]] || { echo 'skipped: the clock of this machine is synchronised, and its hosts share it'; exit 0; }

# Turn host2 into a time server. Give host1 another time service, and a folder with packages that serves as its mirror.
mkdir "$work/packages"
(cd -- "$work/packages" && apt-get -qq -o APT::Sandbox::User=root download chrony "systemd-timesyncd=$(on 1 dpkg-query -W -f "'\${Version}'" systemd)") || fail 'the packages cannot be downloaded'
for package in "$work"/packages/*.deb; do
    dpkg-deb --field "$package"
    printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "${package##*/}" "$(stat -c %s "$package")" "$(sha256sum <"$package" | cut -d ' ' -f 1)"
done >"$work/packages/Packages"
tar -C "$work" -c packages | on 1 'sudo tar --no-same-owner -C /srv -x'
on 2 'printf "local stratum 8\nallow\n" | sudo tee /etc/chrony/conf.d/testbed.conf >/dev/null; sudo systemctl restart chrony'
on 1 'sudo bash -s' >"$work/log" 2>&1 <<'END' || { cat "$work/log" >&2; fail 'host1 did not receive another time service'; }
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
echo 'deb [trusted=yes] file:/srv/packages ./' >/etc/apt/sources.list.d/testbed.list
apt-get -q update
apt-get -q purge -y chrony
apt-get -q install -y systemd-timesyncd
mkdir -p /etc/chrony/conf.d /etc/systemd/system/systemd-timesyncd.service.d
echo 'server 10.66.0.12 iburst' >/etc/chrony/conf.d/testbed.conf
printf '[Unit]\nConditionVirtualization=\nConditionCapability=\n' >/etc/systemd/system/systemd-timesyncd.service.d/testbed.conf
systemctl daemon-reload
systemctl enable --now systemd-timesyncd
END
services() { on 1 'systemctl is-enabled chrony systemd-timesyncd; systemctl is-active chrony systemd-timesyncd; true' 2>&1 | xargs; }
# Prints the files of host1, except the package managers' records and the files that were removed with chrony's own folder.
files() { snapshot 1 | grep -vE '/var/lib/(apt|dpkg|ucf)|/etc/(group|gshadow|passwd|shadow)-|^/etc/chrony[ /]| /etc/chrony/'; }
was=$(services)
files >"$work/before"

mkdir -p "$work/one/group_vars"
sed 's|^dohyo_devices:.*|dohyo_devices: []|; s|^host_clock:.*|host_clock: install|' inventories/testbed/group_vars/all.yml >"$work/one/group_vars/all.yml"
printf 'all:\n  children:\n    database: {hosts: {host1: }}\n    client: {children: {database: }}\n' >"$work/one/hosts.yml"
quietly playbook -i "$work/one" deploy.yml --tags host --limit host1 -e '{deploy_systems: [mysql-innodb]}'
[[ $(on 1 'systemctl is-active chrony; systemctl is-active systemd-timesyncd; chronyc -n tracking' 2>&1 | xargs) == active\ inactive*10.66.0.12* ]] ||
    fail 'chrony does not synchronise the clock'
ok 'chrony synchronises the clock'

quietly playbook -i "$work/one" destroy.yml -e destroy=yes --limit host1
[[ $(services) == "$was" ]] || fail "the time services were \"$was\", and are \"$(services)\""
files >"$work/after"
diff -- "$work/before" "$work/after" >&2 || fail 'host1 is not as before'
ok "the time service was restored: $was"
