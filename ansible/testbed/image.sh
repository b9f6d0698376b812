#!/usr/bin/env bash
# image.sh FOLDER [bare]: builds the root file system of the hosts unless it exists. It has the same release of Debian or Ubuntu as
# this machine, from the same package sources, and contains what deploy.yml expects on a host. With bare, it contains only SSH for
# root, as bootstrap.yml expects. mmdebstrap calls this script again to complete the file system.
set -euo pipefail

packages=(
    systemd-sysv dbus openssh-server sudo          # for Ansible's connections
    python3 python3-apt iproute2 procps nftables   # for Ansible's modules
    rsync xz-utils kmod util-linux iputils-ping e2fsprogs xfsprogs
    openjdk-17-jdk-headless                        # for the servers; hosts cannot reach a package mirror
    libaio1 libncurses6                            # libraries of MariaDB's programs
    chrony
    firewalld netbase                              # disabled; netbase contains the protocol names that firewalld needs
)
# The packages depend on the kind of image, even when mmdebstrap calls this script.
kind=${2:-}
if [[ $1 == finish ]]; then kind=${3:-}; fi
if [[ $kind == bare ]]; then packages=(systemd-sysv dbus openssh-server); fi

finish() { # NEW_ROOT
    cd -- "$1"
    rm -f -- etc/ssh/ssh_host_* etc/machine-id # each host creates its own
    if [[ $kind == bare ]]; then
        echo 'PermitRootLogin yes' >etc/ssh/sshd_config.d/testbed.conf
    else
        chroot . useradd --create-home --shell /bin/bash dohyo
        echo 'dohyo ALL=(ALL) NOPASSWD: ALL' >etc/sudoers.d/dohyo
        chroot . systemctl disable --quiet firewalld
        sed -i /pam_systemd/d etc/pam.d/common-session # polkit installs pam_systemd, which would start a manager for each login
        echo 'AuthorizedKeysFile /etc/ssh/authorized_keys' >etc/ssh/sshd_config.d/testbed.conf
    fi
    # The hosts share the machine's clock, so chrony must not set it.
    mkdir etc/systemd/system/chrony.service.d etc/systemd/system/local-fs.target.wants
    printf '[Unit]\nConditionCapability=\n[Service]\nExecStart=\nExecStart=!/usr/sbin/chronyd -F 1 -x\n' >etc/systemd/system/chrony.service.d/testbed.conf
    # In a container, systemd does not mount the devices in fstab, so a service does that.
    cat >etc/systemd/system/testbed-fstab.service <<'END'
[Unit]
Description=Mount the disks of /etc/fstab
DefaultDependencies=no
After=systemd-remount-fs.service
Before=local-fs.target
[Service]
Type=oneshot
ExecStart=mount --all
END
    ln -s ../testbed-fstab.service etc/systemd/system/local-fs.target.wants/
}

if [[ $1 == finish ]]; then
    finish "$2"
    exit
fi
image=$1
stamp=$(sha256sum <"${BASH_SOURCE[0]}")
[[ $(cat -- "$image/etc/testbed" 2>/dev/null) != "$stamp" ]] || exit 0

echo "testbed: building the ${kind:+$kind }image (about a minute, once)" >&2
apt-get -qq update || true # without package lists, apt does not know the origin of a source
# shellcheck source=/dev/null
. /etc/os-release
sources=$(apt-get indextargets --format "deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Created-By: Packages' "Origin: ${ID^}")
[[ -n $sources ]] || {
    echo "testbed: ERROR: apt-get knows no package source of ${ID^} on this machine; check /etc/apt" >&2
    exit 1
}
rm -rf --one-file-system -- "$image" "$image".*
mkdir -- "$image.tmp"
# Use separate namespaces, so that the mounts and processes of a killed build end with them.
TMPDIR=$image.tmp unshare --mount --pid --fork --kill-child --mount-proc \
    mmdebstrap --quiet --mode=root --variant=minbase --format=directory \
    --aptopt=<(apt-config dump Acquire) --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt=force-unsafe-io \
    --include="$(IFS=,; echo "${packages[*]}")" --customize-hook="$(printf %q "${BASH_SOURCE[0]}") finish \"\$1\" $kind" \
    "$VERSION_CODENAME" "$image.new" - <<<"$sources" >"$image.log" 2>&1 || {
    tail -n 5 -- "$image.log" >&2
    echo "testbed: ERROR: mmdebstrap failed; its log: $image.log" >&2
    exit 1
}
echo "$stamp" >"$image.new/etc/testbed"
mv -- "$image.new" "$image"
rm -rf -- "$image.tmp"
