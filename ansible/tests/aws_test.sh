#!/usr/bin/env bash
# Tests aws.yml against a server of this machine that answers as EC2 does (aws_server.py).
set -euo pipefail
ansible=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
python=${ansible%/*}/.venv/bin/python
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf -- "$work"' EXIT
cd -- "$ansible"

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

"$python" -c 'import moto, boto3' 2> /dev/null || { echo 'skipped: moto is not installed; ./setup.sh test does it'; exit 0; }

mkdir "$work/server"
"$python" tests/aws_server.py "$work/server" > "$work/server/log" 2>&1 &
server=$!
for ((i = 0; i < 200; i++)); do
  [[ -s $work/server/url ]] && break
  kill -0 "$server" || fail "the server ended: $(cat "$work/server/log")"
  sleep 0.1
done
# Nothing of the caller's account may be reached, whatever the caller's settings are.
unset "${!AWS_@}"
AWS_ENDPOINT_URL=$(< "$work/server/url")
export AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
export ANSIBLE_NOCOLOR=1

# ec2 CODE: lists the resources on the server, and runs the Python code with them.
ec2() {
  "$python" - "$1" << 'END'
import sys, boto3
ec2 = boto3.client("ec2", region_name="us-east-1")
things = {
    "instances": [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"] if i["State"]["Name"] != "terminated"],
    "groups": ec2.describe_security_groups()["SecurityGroups"],
    "keys": ec2.describe_key_pairs()["KeyPairs"],
    "placements": ec2.describe_placement_groups()["PlacementGroups"],
    "volumes": ec2.describe_volumes()["Volumes"],
}
def tag(thing, name="dohyo:project"):
    return {t["Key"]: t["Value"] for t in thing.get("Tags", [])}.get(name)
def ours(kind):
    return [thing for thing in things[kind] if tag(thing) == "dohyo"]
exec(sys.argv[1])
END
}
everything() { ec2 'print(things)' > "$work/$1"; }

ssh-keygen -q -t ed25519 -N '' -C somebody@somewhere -f "$work/key"
aws() {
  "${python%python}ansible-playbook" aws.yml -e "aws_public_key=$work/key.pub aws_inventory=$work/inventory" \
    -e aws_controller=203.0.113.7/32 -e aws_timeout=20 "$@" < /dev/null > "$work/out" 2>&1
}
refuses() { # WORDS ARGUMENTS...: fails, says so, and asks EC2 for no change
  local words=$1
  shift
  cp "$work/server/changes" "$work/before"
  if aws "$@"; then fail "not refused: $*"; fi
  tr -s '\n ' ' ' < "$work/out" | grep -qF -- "$words" || fail "does not say '$words': $(cat "$work/out")"
  cmp -s -- "$work/before" "$work/server/changes" || fail "changed something although it was refused: $*"
}
aws_ok() { aws "$@" || fail "aws.yml $*: $(cat "$work/out")"; }
recap() { grep -E "^localhost .*changed=$1 .*failed=0" "$work/out" > /dev/null || fail "not changed=$1: $(cat "$work/out")"; }

# What is somebody else's: without a tag, of another project, and of our name.
ec2 'if True:
  def group(name, project):
      return ec2.create_security_group(GroupName=name, Description="x", TagSpecifications=[
          {"ResourceType": "security-group", "Tags": [{"Key": "dohyo:project", "Value": project}]}] if project else [])["GroupId"]
  group("taken", None)
  for project in ("other", None):
      ec2.run_instances(ImageId="ami-0000000a", InstanceType="i3en.large", MinCount=1, MaxCount=1,
          SecurityGroupIds=[group(f"of-{project}", project)], TagSpecifications=[{"ResourceType": "instance", "Tags":
              [{"Key": "dohyo:project", "Value": project}] if project else [{"Key": "Name", "Value": "dohyo-1"}]}])'
everything foreign

refuses 'nothing was created; to agree without being asked: -e aws_confirm=yes-10.87'
refuses 'aws_confirm=yes-10.87' -e aws_confirm=yes-5.43
refuses 'without the tag dohyo:project=taken' -e aws_project=taken -e aws_confirm=yes-10.87
refuses 'has no image debian-99' -e 'aws_image_name=debian-99-*' -e aws_confirm=yes-10.87
mkdir "$work/mine"
refuses 'a folder that does not exist yet' -e "aws_inventory=$work/mine"

cp "$work/server/changes" "$work/before"
aws_ok -e aws_type=i3en.3xlarge --check
grep -qF '5.62 US dollars per hour: 4 × (1.4 per' "$work/out" || fail "the price of the price list API: $(cat "$work/out")"
cmp -s -- "$work/before" "$work/server/changes" || fail '--check creates something'

aws_ok -e aws_confirm=yes-10.87
ec2 'if True:
  four, [group], [key], [placement] = map(ours, ("instances", "groups", "keys", "placements"))
  assert sorted(tag(i, "Name") for i in four) == ["dohyo-1", "dohyo-2", "dohyo-3", "dohyo-4"], four
  assert placement["Strategy"] == "cluster", placement
  for i in four:
      assert i["InstanceType"] == "i3en.6xlarge" and i["ImageId"] == "ami-0000000b" and i["KeyName"] == "dohyo", i
      assert [g["GroupId"] for n in i["NetworkInterfaces"] for g in n["Groups"]] == [group["GroupId"]], i
      assert i["Placement"]["GroupName"] == "dohyo" and i["MetadataOptions"]["HttpTokens"] == "required", i
  assert len({i["SubnetId"] for i in four}) == 1, four
  members, ssh = sorted(group["IpPermissions"], key=lambda rule: rule["IpProtocol"])
  assert members["IpProtocol"] == "-1" and not members["IpRanges"], members
  assert [pair["GroupId"] for pair in members["UserIdGroupPairs"]] == [group["GroupId"]], members
  assert (ssh["IpProtocol"], ssh["FromPort"], ssh["ToPort"]) == ("tcp", 22, 22) and not ssh["UserIdGroupPairs"], ssh
  assert [r["CidrIp"] for r in ssh["IpRanges"]] == ["203.0.113.7/32"] and not ssh["Ipv6Ranges"], ssh
  assert {v["Size"] for v in ours("volumes")} == {30}, ours("volumes")'

ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true "${python%python}ansible-inventory" -i "$work/inventory" --list > "$work/list"
ec2 'if True:
  import json, pathlib
  work = pathlib.Path("'"$work"'")
  inventory = json.loads((work / "list").read_text())
  hosts = inventory["_meta"]["hostvars"]
  known = [line.split() for line in (work / "inventory/known_hosts.txt").read_text().splitlines()]
  assert inventory["client"]["children"] == ["database"] and len(inventory["database"]["hosts"]) == 4, inventory
  for i in ours("instances"):
      host = hosts[tag(i, "Name")]
      assert (host["ansible_host"], host["dohyo_address"]) == (i["PublicIpAddress"], i["PrivateIpAddress"]), host
      assert float(host["dohyo_usd_per_hour"]) == 2.717, host
      assert f"UserKnownHostsFile=\"{work}/inventory/known_hosts.txt\"" in host["ansible_ssh_common_args"].replace(
          "{{ inventory_dir }}", f"{work}/inventory"), host
      assert "StrictHostKeyChecking=yes" in host["ansible_ssh_common_args"] and host["dohyo_devices"], host
      key = (work / "server" / i["InstanceId"]).read_text().split()
      assert [line[1:3] for line in known if line[0] == i["PublicIpAddress"]] == [key], known'
ssh-keygen -l -f "$work/inventory/known_hosts.txt" > /dev/null || fail 'ssh cannot read known_hosts'
diff -r inventories/i3en/group_vars "$work/inventory/group_vars" || fail 'the settings are not those of i3en'

# A second time: nothing, not even a question; the keys come from the file.
echo 'mine: true' >> "$work/inventory/group_vars/all.yml"
rm "$work"/server/i-*
aws_ok
recap 0
grep -qxF 'mine: true' "$work/inventory/group_vars/all.yml" || fail 'somebody'\''s settings were overwritten'

# A host is missing, and somebody has opened a port.
ec2 'if True:
  ec2.terminate_instances(InstanceIds=[i["InstanceId"] for i in ours("instances") if tag(i, "Name") == "dohyo-2"])
  ec2.authorize_security_group_ingress(GroupId=ours("groups")[0]["GroupId"], IpProtocol="tcp", FromPort=9042, ToPort=9042, CidrIp="0.0.0.0/0")'
refuses 'aws_confirm=yes-2.72'
aws_ok -e aws_confirm=yes-2.72
ec2 'if True:
  assert sorted(tag(i, "Name") for i in ours("instances")) == ["dohyo-1", "dohyo-2", "dohyo-3", "dohyo-4"], ours("instances")
  assert len(ours("groups")[0]["IpPermissions"]) == 2, ours("groups")'
refuses '4 instances of dohyo exist and aws_count is 3' -e aws_count=3

aws_ok -e aws_state=absent
ec2 'assert not any(map(ours, things)), [ours(kind) for kind in things]'
[[ ! -e $work/inventory ]] || fail 'the inventory is still there'
everything now
cmp -s -- "$work/foreign" "$work/now" || fail 'what is somebody else'\''s has changed'
aws_ok -e aws_state=absent -e aws_project=taken
recap 0
grep -qF 'is called taken and has no tag' "$work/out" || fail 'does not say what it left'
everything now
cmp -s -- "$work/foreign" "$work/now" || fail 'a thing of our name without our tag was removed'
echo "aws: all passed in $SECONDS s"
