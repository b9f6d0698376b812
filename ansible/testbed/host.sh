#!/usr/bin/env bash
# host.sh STATE NAME ADDRESS BRIDGE CONTROL: the life of one host, from power on to power off. The testbed starts it in
# a cgroup and in network and mount namespaces of its own, which end with it: no link, no mount made here can stay.
# CONTROL is the process that holds the bridge's namespace.
set -euo pipefail

cd -- "$1"
name=$2 address=$3 bridge=$4 control=$5
in_control() { nsenter --net="/proc/$control/ns/net" "$@"; }

ip link set lo up
in_control ip link delete "$name" 2>/dev/null || true # of the life before; the kernel takes its time to clear it away
IFS=. read -ra bytes <<<"$address"
printf -v mac '02:00:%02x:%02x:%02x:%02x' "${bytes[@]}" # the same in every life, as the neighbours remember it
ip link add eth0 address "$mac" type veth peer name "$name" netns "$control"
in_control ip link set "$name" master "$bridge" up
ip address add "$address/24" dev eth0
ip link set eth0 up
ip route add default via "${address%.*}.1" # which leads nowhere, but some programs find their own address by it

mkdir -p "$name/upper" "$name/work" "$name/root"
mount -t overlay overlay -o "lowerdir=$(cat kind),upperdir=$name/upper,workdir=$name/work" "$name/root"
echo "$name" >"$name/root/etc/hostname"
md5sum <<<"$name" | cut -d ' ' -f 1 >"$name/root/etc/machine-id" # without one it would be a first boot, which enables every service
cp -- etc_hosts "$name/root/etc/hosts"
install -m 600 -- "keys/$name" "$name/root/etc/ssh/ssh_host_ed25519_key"
if [[ $(cat kind) == bare ]]; then
    install -D -m 600 -- keys/user.pub "$name/root/root/.ssh/authorized_keys"
    chroot "$name/root" chpasswd <<<"root:$(cat keys/password)"
else
    install -m 644 -- keys/user.pub "$name/root/etc/ssh/authorized_keys"
fi

disks=()
for file in "$name"/disk*; do
    [[ -f $file ]] || continue # no disks
    device=$(losetup --find --show -- "$file")
    # shellcheck disable=SC2034 # the number of the open file; it stays open as long as this process lives
    exec {open}<>"$device"
    losetup --detach "$device" # as soon as nobody has it open any more, neither this process nor a mount
    disks+=("--bind=$device:/dev/${file##*/}")
done

# nspawn wants one cgroup tree and keeps notes in /run/systemd, which are nobody else's business.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run/systemd
export SYSTEMD_NSPAWN_TMPFS_TMP=0 # /tmp on the disk, as on any Debian
code=133
while ((code == 133)); do # what a reboot of the guest comes to
    code=0
    systemd-nspawn --quiet --boot --directory="$name/root" --machine="$name" --register=no --keep-unit --console=pipe \
        --link-journal=no --resolv-conf=off --timezone=off --capability=CAP_NET_ADMIN,CAP_IPC_LOCK "${disks[@]}" ||
        code=$?
done
