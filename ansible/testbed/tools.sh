#!/usr/bin/env bash
# Installs the programs that the testbed needs on this machine, with apt-get.
set -euo pipefail

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); } # COMMAND PACKAGE
need systemd-nspawn systemd-container
need mmdebstrap mmdebstrap
need ip iproute2
need sysctl procps
need nft nftables
need nc netcat-openbsd
need ssh openssh-client
need jq jq # the testbed's tests read JSON
((${#missing[@]})) || exit 0

command -v apt-get >/dev/null || {
    echo "testbed: ERROR: the testbed needs Debian or Ubuntu, and there: ${missing[*]}" >&2
    exit 1
}
echo "testbed: installing with apt-get: ${missing[*]}" >&2
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
