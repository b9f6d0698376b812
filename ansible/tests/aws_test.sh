#!/usr/bin/env bash
# Tests aws.yml against a local server with the API of EC2 (aws_server.py).
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
for ((i = 0; i < 1200; i++)); do
  [[ -s $work/server/url ]] && break
  kill -0 "$server" || fail "the server ended: $(cat "$work/server/log")"
  sleep 0.1
done
# The test must not reach the caller's AWS account, regardless of the caller's settings.
unset "${!AWS_@}"
AWS_ENDPOINT_URL=$(< "$work/server/url")
export AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
export ANSIBLE_NOCOLOR=1

# ec2 CODE: lists the resources on the server, and runs the Python code, which can read these lists
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
refuses() { # WORDS ARGUMENTS...: checks that aws.yml fails with these words, and requests no change from EC2
  local words=$1
  shift
  cp "$work/server/changes" "$work/before"
  if aws "$@"; then fail "not refused: $*"; fi
  tr -s '\n ' ' ' < "$work/out" | grep -qF -- "$words" || fail "does not say '$words': $(cat "$work/out")"
  cmp -s -- "$work/before" "$work/server/changes" || fail "changed something although it was refused: $*"
}
aws_ok() { aws "$@" || fail "aws.yml $*: $(cat "$work/out")"; }
recap() { grep -E "^localhost .*changed=$1 .*failed=0" "$work/out" > /dev/null || fail "not changed=$1: $(cat "$work/out")"; }

# Create foreign resources, which have no tag, belong to another project, or have the project's name but not its tag.
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

echo 1152 > "$work/server/quota"
mkdir "$work/mine"
# The play has one host per case, whose name is a letter. Each host must fail with its own message.
cat > "$work/cases.yml" << END
localhost:
  hosts:
    a: {says: 'nothing was created; to approve the cost in advance: -e aws_confirm=yes-13.60'}
    b: {says: aws_confirm=yes-13.60, case: {confirm: yes-5.43}}
    c: {says: "is not Dohyo's (no tag dohyo:project=taken)", case: {project: taken, confirm: yes-13.60}}
    d: {says: no x86_64 image debian-99, case: {image_name: debian-99-*, confirm: yes-13.60}}
    e: {says: 'aws_hours=-1: must be a number', case: {hours: '-1'}}
    # Ansible's filters int and float would convert each of the next four values to a number.
    f: {says: 'aws_hours=12h: must be a number', case: {hours: 12h}}
    g: {says: 'aws_hours=inf: must be a number', case: {hours: inf}}
    h: {says: 'aws_clients=two: must be a number from 0', case: {clients: two}}
    i: {says: 'aws_count=4x: must be a number from 1', case: {count: 4x}}
    j: {says: 'aws_public_key=$work/key: not a file with one public SSH key', case: {public_key: $work/key}}
    k: {says: 'aws_public_key=$work/none: not a file with one public SSH key', case: {public_key: $work/none}}
    l: {says: or one that aws.yml created, case: {inventory: $work/mine}}
END
refuses '' -i "$work/cases.yml" -e "$("$python" - "$work" << 'END'
import json, sys
usual = {"confirm": "", "project": "dohyo", "image_name": "debian-12-amd64-*", "hours": 0, "clients": 2, "count": 4,
         "public_key": f"{sys.argv[1]}/key.pub", "inventory": f"{sys.argv[1]}/inventory"}
print(json.dumps({f"aws_{name}": f"{{{{ (case | default({{}})).{name} | default({value!r}) }}}}" for name, value in usual.items()}))
END
)"
"$python" - "$work" << 'END' || fail "a case did not fail with its message: $(cat "$work/out")"
import pathlib, re, sys, yaml
work = pathlib.Path(sys.argv[1])
out = " ".join((work / "out").read_text().split())
said = dict(re.findall(r"(?:fatal|failed): \[(.)\].*? => (.*?)(?=\[ERROR\]|fatal:|failed:|TASK \[|PLAY RECAP)", out))
cases = yaml.safe_load((work / "cases.yml").read_text())["localhost"]["hosts"]
missing = {name: case["says"] for name, case in cases.items() if case["says"] not in said.get(name, "")}
sys.exit(f"{missing}" if missing else 0)
END

# Two i3en.large of another project have 2 virtual processors each; six new hosts need 4 × 24 and 2 × 32.
echo 163 > "$work/server/quota"
refuses 'EC2 quota L-1216C47A, us-east-1: 4 of 163 vCPUs used, 160 needed; raise it' -e aws_confirm=yes-13.60
echo 164 > "$work/server/quota"

cp "$work/server/changes" "$work/before"
aws_ok -e aws_type=i3en.3xlarge --check
said() { tr -s '\n ' ' ' < "$work/out" | grep -qF -- "$1" || fail "does not say '$1': $(cat "$work/out")"; }
said '8.35 US dollars per hour: 4 × i3en.3xlarge at 1.4, 2 × c6i.8xlarge at 1.36, and 0.005 per public address'
said 'i3en.3xlarge: the AWS Price List API'
said 'c6i.8xlarge: copies of the Amazon EC2 on-demand price list'
said 'hours, or with the existing hosts, unless extended; until then 66.80 US dollars'
cmp -s -- "$work/before" "$work/server/changes" || fail '--check creates something'

# If no zone has capacity for all instances, those already started are removed, and the message names each zone. Any other error ends the play at once.
for zone in a b c d e f; do echo "us-east-1$zone c6i.8xlarge InsufficientInstanceCapacity"; done > "$work/server/full"
if aws -e aws_confirm=yes-13.60; then fail 'aws.yml did not fail although no zone has room'; fi
said 'no zone has room for all instances (us-east-1a: InsufficientInstanceCapacity; us-east-1b: InsufficientInstanceCapacity;'
ec2 'assert not ours("instances"), ours("instances")'
echo 'us-east-1a i3en.6xlarge UnauthorizedOperation' > "$work/server/full"
if aws -e aws_confirm=yes-13.60; then fail 'aws.yml did not fail although EC2 did not authorize the launch'; fi
said 'An error occurred (UnauthorizedOperation)'
ec2 'assert not ours("instances"), ours("instances")'

# Servers and clients must be in the first zone that has capacity for both.
printf '%s\n' 'us-east-1a i3en.6xlarge InsufficientInstanceCapacity' 'us-east-1b c6i.8xlarge Unsupported' > "$work/server/full"
aws_ok -e aws_confirm=yes-13.60
said 'no room in us-east-1a: InsufficientInstanceCapacity'
said 'no room in us-east-1b: Unsupported'
rm "$work/server/full"
ec2 'if True:
  import base64, time
  six, [group], [key], [placement] = map(ours, ("instances", "groups", "keys", "placements"))
  assert sorted(tag(i, "Name") for i in six) == ["dohyo-1", "dohyo-2", "dohyo-3", "dohyo-4", "dohyo-client-1", "dohyo-client-2"], six
  assert placement["Strategy"] == "cluster", placement
  for i in six:
      kind = "c6i.8xlarge" if "client" in tag(i, "Name") else "i3en.6xlarge"
      assert i["InstanceType"] == kind and i["ImageId"] == "ami-0000000b" and i["KeyName"] == "dohyo", i
      assert i["Placement"]["AvailabilityZone"] == "us-east-1c" and i["MetadataOptions"]["InstanceMetadataTags"] == "enabled", i
      until = int(tag(i, "dohyo:until"))
      assert abs(until - time.time() - 8 * 3600) < 300, until
      def told(name):
          return ec2.describe_instance_attribute(InstanceId=i["InstanceId"], Attribute=name)
      assert told("instanceInitiatedShutdownBehavior")["InstanceInitiatedShutdownBehavior"]["Value"] == "terminate"
      assert f"echo {until} >" in base64.b64decode(told("userData")["UserData"]["Value"]).decode()
      assert [g["GroupId"] for n in i["NetworkInterfaces"] for g in n["Groups"]] == [group["GroupId"]], i
      assert i["Placement"]["GroupName"] == "dohyo" and i["MetadataOptions"]["HttpTokens"] == "required", i
  assert len({i["SubnetId"] for i in six}) == 1, six
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
  assert inventory["client"]["hosts"] == ["dohyo-client-1", "dohyo-client-2"], inventory
  assert inventory["database"]["hosts"] == ["dohyo-1", "dohyo-2", "dohyo-3", "dohyo-4"], inventory
  for i in ours("instances"):
      host = hosts[tag(i, "Name")]
      assert (host["ansible_host"], host["dohyo_address"]) == (i["PublicIpAddress"], i["PrivateIpAddress"]), host
      assert float(host["dohyo_usd_per_hour"]) == (1.365 if "client" in tag(i, "Name") else 2.717), host
      assert host["aws_image"] == "ami-0000000b", host
      assert f"UserKnownHostsFile=\"{work}/inventory/known_hosts.txt\"" in host["ansible_ssh_common_args"].replace(
          "{{ inventory_dir }}", f"{work}/inventory"), host
      assert "StrictHostKeyChecking=yes" in host["ansible_ssh_common_args"] and host["dohyo_devices"], host
      key = (work / "server" / i["InstanceId"]).read_text().split()
      assert [line[1:3] for line in known if line[0] == i["PublicIpAddress"]] == [key], known'
ssh-keygen -l -f "$work/inventory/known_hosts.txt" > /dev/null || fail 'ssh cannot read known_hosts'
diff -r inventories/i3en/group_vars "$work/inventory/group_vars" || fail 'the settings differ from those of the inventory i3en'

# A second call must neither change anything nor ask for approval; it reads the keys from the file.
echo 'mine: true' >> "$work/inventory/group_vars/all.yml"
rm "$work"/server/i-*
aws_ok
recap 0
grep -qxF 'mine: true' "$work/inventory/group_vars/all.yml" || fail 'a setting that the user had added was overwritten'

# The hours are counted from the call that sets them.
aws_ok -e aws_hours=12.5
recap 1
said 'cost_so_far: 0.'
ec2 'if True:
  import time
  [until] = {int(tag(i, "dohyo:until")) for i in ours("instances")}
  assert abs(until - time.time() - 12.5 * 3600) < 300, until'

# Remove a host, open a port and publish a newer image: the next call must repair both, and not use the newer image.
ec2 'if True:
  ec2.copy_image(SourceImageId="ami-0000000b", SourceRegion="us-east-1", Name="debian-12-amd64-20991101-1")
  ec2.terminate_instances(InstanceIds=[i["InstanceId"] for i in ours("instances") if tag(i, "Name") == "dohyo-2"])
  ec2.authorize_security_group_ingress(GroupId=ours("groups")[0]["GroupId"], IpProtocol="tcp", FromPort=9042, ToPort=9042, CidrIp="0.0.0.0/0")'
refuses 'aws_confirm=yes-2.72'
echo us-east-1c i3en.6xlarge InsufficientInstanceCapacity > "$work/server/full"
if aws -e aws_confirm=yes-2.72; then fail 'a replacement was started in another zone'; fi
said 'no zone has room for all instances (us-east-1c: InsufficientInstanceCapacity)'
rm "$work/server/full" "$work/server/quota"
aws_ok -e aws_confirm=yes-2.72
said 'the quota L-1216C47A was not checked: An error occurred (AccessDeniedException)'
ec2 'if True:
  assert sorted(tag(i, "Name") for i in ours("instances"))[:4] == ["dohyo-1", "dohyo-2", "dohyo-3", "dohyo-4"], ours("instances")
  assert {i["ImageId"] for i in ours("instances")} == {"ami-0000000b"}, ours("instances")
  assert len({tag(i, "dohyo:until") for i in ours("instances")}) == 1, ours("instances")
  assert len(ours("groups")[0]["IpPermissions"]) == 2, ours("groups")'
refuses '4 database hosts for aws_count=3; terminate some' -e aws_count=3
refuses '2 client hosts for aws_clients=0; terminate some' -e aws_clients=0

# After all instances have ended, new ones must still use the image in the inventory.
ec2 'ec2.terminate_instances(InstanceIds=[i["InstanceId"] for i in ours("instances")])'
aws_ok --check -e aws_clients=0
said '4 database hosts i3en.6xlarge with debian-12-amd64-20261101-1 in us-east-1a'
sed -i 's/ami-0000000b/ami-000000ff/' "$work/inventory/hosts.yml"
refuses "the hosts' image ami-000000ff no longer exists" -e aws_confirm=yes-13.60
aws_ok -e aws_confirm=yes-10.87 -e aws_clients=0 -e aws_inventory="$work/other"
"${python%python}ansible-inventory" -i "$work/other" --list > "$work/list"
"$python" -c 'import json, sys; assert json.load(sys.stdin)["client"]["children"] == ["database"]' < "$work/list"

aws_ok -e aws_state=absent
ec2 'assert not any(map(ours, things)), [ours(kind) for kind in things]'
[[ ! -e $work/inventory ]] || fail 'the inventory was not removed'
everything now
cmp -s -- "$work/foreign" "$work/now" || fail 'a foreign resource was changed'
aws_ok -e aws_state=absent -e aws_project=taken
recap 0
grep -qF 'is called taken and has no tag' "$work/out" || fail 'the output does not name the resource that was left'
everything now
cmp -s -- "$work/foreign" "$work/now" || fail 'a resource with the name but without the tag was removed'
echo "aws: all passed in $SECONDS s"
