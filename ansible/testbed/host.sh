#!/usr/bin/env bash
# host.sh STATE NAME ADDRESS BRIDGE CONTROL: runs one host from power on to power off. The testbed starts this script in
# its own cgroup, network and mount namespaces. These end with the script, so that no link or mount is left behind. CONTROL is the
# pid of the process whose network namespace contains the bridge.
set -euo pipefail

cd -- "$1"
name=$2 address=$3 bridge=$4 control=$5
in_control() { nsenter --net="/proc/$control/ns/net" "$@"; }

ip link set lo up
in_control ip link delete "$name" 2>/dev/null || true # after a crash, the link may still exist, because the kernel removes it late
IFS=. read -ra bytes <<<"$address"
printf -v mac '02:00:%02x:%02x:%02x:%02x' "${bytes[@]}" # the same at every boot, because other hosts cache it
ip link add eth0 address "$mac" type veth peer name "$name" netns "$control"
in_control ip link set "$name" master "$bridge" up
ip address add "$address/24" dev eth0
ip link set eth0 up
ip route add default via "${address%.*}.1" # this route leads nowhere, but some programs need it to find their own address

mkdir -p "$name/upper" "$name/work" "$name/root"
mount -t overlay overlay -o "lowerdir=$(cat kind),upperdir=$name/upper,workdir=$name/work" "$name/root"
echo "$name" >"$name/root/etc/hostname"
md5sum <<<"$name" | cut -d ' ' -f 1 >"$name/root/etc/machine-id" # without an id, systemd would assume a first boot and enable every service
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
    [[ -f $file ]] || continue # the host has no disks
    device=$(losetup --find --show -- "$file")
    # shellcheck disable=SC2034 # a file descriptor that stays open while this process runs
    exec {open}<>"$device"
    losetup --detach "$device" # takes effect once neither this process nor a mount uses the device
    disks+=("--bind=$device:/dev/${file##*/}")
done

# nspawn needs one cgroup tree. It writes to /run/systemd, which other programs on this machine must not see.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run/systemd
export SYSTEMD_NSPAWN_TMPFS_TMP=0 # keep /tmp on the disk, as on any Debian
code=133
while ((code == 133)); do # 133 is the exit code if the guest requests a reboot
    code=0
    systemd-nspawn --quiet --boot --directory="$name/root" --machine="$name" --register=no --keep-unit --console=pipe \
        --link-journal=no --resolv-conf=off --timezone=off --capability=CAP_NET_ADMIN,CAP_IPC_LOCK "${disks[@]}" ||
        code=$?
done
