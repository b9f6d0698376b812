"""Ansible module: creates or removes EC2 instances with boto3.

The collection amazon.aws also needs boto3, and on PyPI it is only in the package ``ansible``, with 21,000 other files.
This module manages the key pair, the cluster placement group, the security group and the instances. All have the tag
``dohyo:project``. It never uses or changes resources without this tag. In check mode it creates nothing. Credentials
and endpoint are those of boto3 (environment, ~/.aws).

Instances end automatically. ``user_data`` sets a timer that shuts the host down at the time in its tag ``dohyo:until``,
and EC2 terminates an instance that shuts itself down.

Returns ``todo``, the changes made or, in check mode, planned; ``launched``, the number of started instances by type;
``ran``, the hours of existing instances by type; and ``notes``. For ``present``, it also returns ``image``, the id of
the image, and, except in check mode, ``until`` (end of the last instance), ``hosts``, and ``known_hosts``, lines for
ssh. Each host has name, group, type, id, address and private_address. For ``absent``, it also returns ``left``, the
resources with the project's name or tag that still exist.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

try:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:
    boto3 = None

TAG = "dohyo:project"
# Tags with the time at which the instance ends, in seconds since 1970, and with its group, database or client.
UNTIL = "dohyo:until"
GROUP = "dohyo:group"
DEFAULT_HOURS = 8
# Variables of aws.yml with the number of hosts in each group.
COUNTS = {"database": "aws_count", "client": "aws_clients"}
# Error codes that mean that a zone lacks capacity or the instance type, so that another zone is tried ("Error codes" in
# the Amazon EC2 API Reference).
NO_ROOM = {
    "InsufficientInstanceCapacity",
    "InsufficientHostCapacity",
    "InsufficientFreeAddressesInSubnet",
    "InsufficientCapacity",
    "Unsupported",
}
# Codes of the quotas for virtual processors of running on-demand instances, by the first letters of the instance type.
QUOTAS = {
    **dict.fromkeys("acdhimrtz", "L-1216C47A"),
    **dict.fromkeys(("g", "vt"), "L-DB2E81BA"),
    "f": "L-74FC7D96",
    "p": "L-417A185B",
    "x": "L-7295265B",
}
ALIVE = ["pending", "running", "stopping", "stopped"]
LOOK_SECONDS = 5
HOST_KEYS = re.compile(r"-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----", re.DOTALL)
HOST_KEY = re.compile(r"\b(ssh-ed25519|ecdsa-sha2-nistp\d+|ssh-rsa) (AAAA[0-9A-Za-z+/]+=*)")


class RefusedError(Exception):
    """Raised if the present state prevents the request; the message describes this state and says what to do."""


class Cluster:
    """The resources of the project in one region, and the changes to them."""

    def __init__(self, options: dict[str, Any], check: bool) -> None:
        self.options = options
        self.project = options["project"]
        self.check = check
        self.todo: list[str] = []
        self.launched: Counter[str] = Counter()
        self.notes: list[str] = []
        self.image = ""
        self.ec2 = boto3.client("ec2", region_name=options["region"])

    # ---- existing resources ----------------------------------------------------------------------------------------

    def tagged(self, call: Callable[..., dict[str, Any]], result: str, **arguments: Any) -> list[dict[str, Any]]:
        """Returns the resources of one kind that have the project's tag."""
        resources: list[dict[str, Any]] = call(
            Filters=[{"Name": f"tag:{TAG}", "Values": [self.project]}, *arguments.pop("Filters", [])], **arguments
        )[result]
        return resources

    def named(self, call: Callable[..., dict[str, Any]], result: str, name: str) -> list[dict[str, Any]]:
        """Returns the resources of one kind that have the project's name but not its tag; Dohyo did not create them."""
        resources = call(Filters=[{"Name": name, "Values": [self.project]}])[result]
        return [resource for resource in resources if tags_of(resource).get(TAG) != self.project]

    def instances(self, states: list[str]) -> list[dict[str, Any]]:
        """Returns the instances in one of these states, ordered by name; instances without a name come last."""
        filters = [{"Name": f"tag:{TAG}", "Values": [self.project]}, {"Name": "instance-state-name", "Values": states}]
        instances = [
            instance
            for page in self.ec2.get_paginator("describe_instances").paginate(Filters=filters)
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
        ]
        return sorted(instances, key=lambda i: (number_of(i), i.get("AmiLaunchIndex", 0), i["InstanceId"]))

    def kinds(self) -> dict[str, tuple[Callable[..., dict[str, Any]], str, str, str]]:
        """Returns the other kinds, in order of removal: the call that lists each, its result's keys, and its filter."""
        ec2 = self.ec2
        return {
            "security group": (ec2.describe_security_groups, "SecurityGroups", "GroupId", "group-name"),
            "placement group": (ec2.describe_placement_groups, "PlacementGroups", "GroupId", "group-name"),
            "key pair": (ec2.describe_key_pairs, "KeyPairs", "KeyPairId", "key-name"),
        }

    # ---- present ----------------------------------------------------------------------------------------------------

    def do(self, description: str, call: Callable[..., dict[str, Any]], **arguments: Any) -> dict[str, Any]:
        """Records a change and, except in check mode, makes it."""
        self.todo.append(description)
        return {} if self.check else call(**arguments)

    def present(self) -> None:
        """Creates everything that is missing."""
        instances = self.instances(ALIVE)
        missing = {}
        for group, (count, kind) in self.groups().items():
            existing = sum(group_of(instance) == group for instance in instances)
            missing[group] = count - existing
            if missing[group] < 0:
                raise RefusedError(
                    f"{existing} {group} hosts for {COUNTS[group]}={count};"
                    " terminate some, or use aws_state=absent first"
                )
            if missing[group]:
                self.launched[kind] += missing[group]
        for instance in instances:
            if instance["State"]["Name"] in {"stopping", "stopped"}:
                raise RefusedError(
                    f"{instance['InstanceId']} is {instance['State']['Name']}, and its disks are lost:"
                    " start or terminate it, or use aws_state=absent"
                )
        for kind, (call, result, key, name) in self.kinds().items():
            for foreign in self.named(call, result, name):
                raise RefusedError(
                    f"{kind} {self.project} ({foreign[key]}) is not Dohyo's (no tag {TAG}={self.project});"
                    " change aws_project"
                )
        self.choose_image(instances)
        subnets = self.subnets(instances)
        self.check_quotas()
        self.key_pair()
        if not self.tagged(self.ec2.describe_placement_groups, "PlacementGroups"):
            self.do(
                f"placement group {self.project}, cluster",
                self.ec2.create_placement_group,
                GroupName=self.project,
                Strategy="cluster",
                TagSpecifications=self.tags("placement-group"),
            )
        group = self.security_group(subnets[0]["VpcId"])
        self.rules(group)
        until = self.until(instances)
        if self.launched:
            self.place(missing, subnets, group, until)
        if instances and self.options["hours"]:
            self.do(
                f"set the end of all instances to {self.options['hours']:g} hours from now",
                self.ec2.create_tags,
                Resources=[instance["InstanceId"] for instance in instances],
                Tags=[{"Key": UNTIL, "Value": str(until)}],
            )
        if not self.check:
            self.settle()

    def tags(self, *resources: str) -> list[dict[str, Any]]:
        """Returns tag specifications, which give a resource its tags when it is created."""
        tags = [{"Key": TAG, "Value": self.project}, {"Key": "Name", "Value": self.project}]
        return [{"ResourceType": resource, "Tags": tags} for resource in resources]

    def key_pair(self) -> None:
        """Imports the public key, or checks that EC2 already has the same key; the private key stays local."""
        key = self.options["public_key"].split()[:2]
        pairs = self.tagged(self.ec2.describe_key_pairs, "KeyPairs", IncludePublicKey=True)
        if not pairs:
            self.do(
                f"key pair {self.project}",
                self.ec2.import_key_pair,
                KeyName=self.project,
                PublicKeyMaterial=" ".join(key).encode(),
                TagSpecifications=self.tags("key-pair"),
            )
        elif pairs[0]["PublicKey"].split()[:2] != key:
            raise RefusedError(
                f"EC2's key pair {self.project} is not aws_public_key; change that, or use aws_state=absent first"
            )

    def groups(self) -> dict[str, tuple[int, str]]:
        """Returns the number and type of the hosts in each group."""
        return {
            "database": (self.options["count"], self.options["type"]),
            "client": (self.options["clients"], self.options["client_type"]),
        }

    def choose_image(self, instances: list[dict[str, Any]]) -> None:
        """Chooses the image of existing instances, otherwise the inventory's, otherwise the newest."""
        self.image = instances[0]["ImageId"] if instances else self.options["image"]
        if self.image:
            if (
                self.launched
                and not self.ec2.describe_images(
                    Filters=[{"Name": "image-id", "Values": [self.image]}, {"Name": "state", "Values": ["available"]}]
                )["Images"]
            ):
                raise RefusedError(
                    f"the hosts' image {self.image} no longer exists; use aws_state=absent, then create all hosts again"
                )
            return
        images = self.ec2.describe_images(
            Owners=[self.options["image_owner"]],
            Filters=[
                {"Name": "name", "Values": [self.options["image_name"]]},
                {"Name": "architecture", "Values": ["x86_64"]},
                {"Name": "state", "Values": ["available"]},
            ],
        )["Images"]
        if not images:
            raise RefusedError(
                f"no x86_64 image {self.options['image_name']} of {self.options['image_owner']} in"
                f" {self.options['region']}; set aws_image_owner and aws_image_name"
            )
        self.image = str(max(images, key=lambda image: str(image["CreationDate"]))["ImageId"])

    def check_quotas(self) -> None:
        """Raises RefusedError, before anything is started, if the account may not run enough virtual processors."""
        processors: Counter[str] = Counter()
        for kind, count in self.launched.items():
            processors[QUOTAS.get(family_of(kind), "")] += count * self.processors([kind])[kind]
        for code, needed in processors.items():
            try:
                quotas = boto3.client("service-quotas", region_name=self.options["region"])
                quota = quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"] if code else None
            except (BotoCoreError, ClientError) as error:
                self.notes.append(f"the quota {code} was not checked: {error}")
                continue
            if quota is None:
                self.notes.append("a quota was not checked: the quota for this family of instance types is unknown")
                continue
            used = self.processors_in_use(code)
            if used + needed > quota["Value"]:
                raise RefusedError(
                    f"EC2 quota {code}, {self.options['region']}: {used} of {quota['Value']:g} vCPUs used,"
                    f" {needed} needed; raise it"
                )

    def processors(self, kinds: list[str]) -> dict[str, int]:
        """Returns the number of virtual processors of each instance type."""
        types = self.ec2.describe_instance_types(InstanceTypes=kinds)["InstanceTypes"]
        return {kind["InstanceType"]: kind["VCpuInfo"]["DefaultVCpus"] for kind in types}

    def processors_in_use(self, code: str) -> int:
        """Returns how many virtual processors of running instances in the region count towards a quota."""
        states = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
        running = Counter(
            instance["InstanceType"]
            for page in self.ec2.get_paginator("describe_instances").paginate(Filters=states)
            for reservation in page["Reservations"]
            for instance in reservation["Instances"]
            if QUOTAS.get(family_of(instance["InstanceType"])) == code and "InstanceLifecycle" not in instance
        )
        return sum(count * self.processors([kind])[kind] for kind, count in running.items())

    def subnets(self, instances: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the subnet of existing instances, the requested one, or default ones in zones that have all types."""
        subnet_id = instances[0]["SubnetId"] if instances else self.options["subnet"]
        if subnet_id:
            return list(self.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"])
        kinds = {kind for count, kind in self.groups().values() if count}
        offers: dict[str, set[str]] = {}
        for offer in self.ec2.describe_instance_type_offerings(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [*kinds]}]
        )["InstanceTypeOfferings"]:
            offers.setdefault(offer["Location"], set()).add(offer["InstanceType"])
        zones = sorted(zone for zone, types in offers.items() if types >= kinds)
        subnets = self.ec2.describe_subnets(Filters=[{"Name": "default-for-az", "Values": ["true"]}])["Subnets"]
        candidates = [dict(subnet) for subnet in subnets if subnet["AvailabilityZone"] in zones]
        if not candidates:
            raise RefusedError(
                f"{self.options['region']} has no default subnet in zones with {' and '.join(sorted(kinds))}"
                f" ({', '.join(zones) or 'none'}): set aws_subnet or aws_region"
            )
        return sorted(candidates, key=lambda subnet: str(subnet["AvailabilityZone"]))

    def security_group(self, vpc: str) -> str:
        """Returns the id of the security group, and creates it if it is missing; in check mode, returns "" instead."""
        groups = self.tagged(self.ec2.describe_security_groups, "SecurityGroups")
        if groups:
            return str(groups[0]["GroupId"])
        result = self.do(
            f"security group {self.project}",
            self.ec2.create_security_group,
            GroupName=self.project,
            Description="Dohyo: open to its members, and to the controller for SSH",
            VpcId=vpc,
            TagSpecifications=self.tags("security-group"),
        )
        return str(result.get("GroupId", ""))

    def rules(self, group: str) -> None:
        """Sets the rules for incoming traffic: all traffic from members, SSH from the controller, nothing else."""
        members = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
        controller = {
            "IpProtocol": "tcp",
            "FromPort": 22,
            "ToPort": 22,
            "IpRanges": [{"CidrIp": self.options["controller"]}],
        }
        requested = {
            ("-1", group): ("all traffic from its members", members),
            ("tcp 22-22", self.options["controller"]): (f"SSH from {self.options['controller']}", controller),
        }
        existing = {}
        if group:
            rules = self.ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group]}])
            existing = {rule_of(rule): rule for rule in rules["SecurityGroupRules"] if not rule["IsEgress"]}
        for rule, (description, permission) in requested.items():
            if rule not in existing:
                self.do(
                    f"allow {description}",
                    self.ec2.authorize_security_group_ingress,
                    GroupId=group,
                    IpPermissions=[permission],
                )
        for rule, details in existing.items():
            if rule not in requested:
                self.do(
                    f"no longer allow {' from '.join(rule)}",
                    self.ec2.revoke_security_group_ingress,
                    GroupId=group,
                    SecurityGroupRuleIds=[details["SecurityGroupRuleId"]],
                )

    def place(self, missing: dict[str, int], subnets: list[dict[str, Any]], security: str, until: int) -> None:
        """Starts the missing instances in the first zone that has capacity for all of them."""
        full = []
        for subnet in subnets:
            started: list[str] = []
            try:
                for group in self.groups():
                    if missing[group]:
                        started += self.launch(group, missing[group], subnet, security, until)
            except ClientError as error:
                # Terminate the instances of the other group, which are useless on their own.
                if started:
                    self.do(f"terminate {', '.join(started)}", self.ec2.terminate_instances, InstanceIds=started)
                code = error.response["Error"]["Code"]
                if code not in NO_ROOM:
                    raise
                full.append(f"{subnet['AvailabilityZone']}: {code}")
                self.notes.append(f"no room in {full[-1]}")
            else:
                return
        raise RefusedError(
            f"no zone has room for all instances ({'; '.join(full)}); wait, or change aws_type,"
            " aws_subnet or aws_region"
        )

    def launch(self, group: str, count: int, subnet: dict[str, Any], security: str, until: int) -> list[str]:
        """Starts a group's instances in one request, as EC2 advises for cluster placement groups; returns their ids."""
        kind = self.groups()[group][1]
        image = self.ec2.describe_images(ImageIds=[self.image])["Images"][0]
        result = self.do(
            f"{count} {group} hosts {kind} with {image['Name']} in {subnet['AvailabilityZone']}",
            self.ec2.run_instances,
            ImageId=self.image,
            InstanceType=kind,
            MinCount=count,
            MaxCount=count,
            KeyName=self.project,
            Placement={"GroupName": self.project},
            NetworkInterfaces=[
                {
                    "DeviceIndex": 0,
                    "SubnetId": subnet["SubnetId"],
                    "Groups": [security],
                    "AssociatePublicIpAddress": True,
                    "DeleteOnTermination": True,
                }
            ],
            BlockDeviceMappings=[
                {
                    "DeviceName": image["RootDeviceName"],
                    "Ebs": {"VolumeSize": self.options["disk_gb"], "VolumeType": "gp3", "DeleteOnTermination": True},
                }
            ],
            # Let the instance read its own tags, because one of them says when it must shut itself down.
            MetadataOptions={"HttpTokens": "required", "InstanceMetadataTags": "enabled"},
            InstanceInitiatedShutdownBehavior="terminate",
            UserData=self.options["user_data"].replace("@UNTIL@", str(until)),
            TagSpecifications=[
                {**entry, "Tags": [*entry["Tags"], {"Key": GROUP, "Value": group}, {"Key": UNTIL, "Value": str(until)}]}
                for entry in self.tags("instance", "volume")
            ],
        )
        return [instance["InstanceId"] for instance in result.get("Instances", [])]

    def until(self, instances: list[dict[str, Any]]) -> int:
        """Returns the time at which the instances end: after the requested hours, or together with existing ones."""
        latest = max((int(tags_of(instance).get(UNTIL, 0)) for instance in instances), default=0)
        hours = self.options["hours"] or (0 if latest else DEFAULT_HOURS)
        return int(time.time() + 3600 * hours) if hours else latest

    def settle(self) -> None:
        """Gives every instance a numbered name, and waits until all of them are running."""
        instances = self.instances(ALIVE)
        for group in self.groups():
            members = [instance for instance in instances if group_of(instance) == group]
            numbers = {number_of(instance) for instance in members}
            free = iter(sorted(set(range(1, len(members) + 1)) - numbers))
            for instance in members:
                if number_of(instance) > len(members):
                    name = f"{self.project}-{'client-' if group == 'client' else ''}{next(free)}"
                    self.do(
                        f"name {name}",
                        self.ec2.create_tags,
                        Resources=[instance["InstanceId"]],
                        Tags=[{"Key": "Name", "Value": name}],
                    )
        self.wait("instance_running", instances)

    def wait(self, state: str, instances: list[dict[str, Any]]) -> None:
        """Waits until all instances have reached a state."""
        if instances:
            self.ec2.get_waiter(state).wait(
                InstanceIds=[instance["InstanceId"] for instance in instances],
                WaiterConfig={"Delay": LOOK_SECONDS, "MaxAttempts": max(1, self.options["timeout"] // LOOK_SECONDS)},
            )

    # ---- the hosts' addresses and keys ------------------------------------------------------------------------------

    def hosts(self) -> list[dict[str, str]]:
        """Returns the name, group, type, id and addresses of each instance."""
        return [
            {
                "name": tags_of(instance)["Name"],
                "group": group_of(instance),
                "type": instance["InstanceType"],
                "id": instance["InstanceId"],
                "address": instance.get("PublicIpAddress", instance["PrivateIpAddress"]),
                "private_address": instance["PrivateIpAddress"],
            }
            for instance in self.instances(ALIVE)
        ]

    def ran(self) -> dict[str, float]:
        """Returns the total hours for which existing instances have run, by type."""
        hours: dict[str, float] = {}
        for instance in self.instances(ALIVE):
            kind = instance["InstanceType"]
            hours[kind] = hours.get(kind, 0) + (time.time() - instance["LaunchTime"].timestamp()) / 3600
        return hours

    def ends(self) -> str:
        """Returns the time in UTC at which the last instance ends, or "never"."""
        last = max(int(tags_of(instance).get(UNTIL, 0)) for instance in self.instances(ALIVE))
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(last)) if last else "never"

    def known_hosts(self, hosts: list[dict[str, str]]) -> list[str]:
        """Returns the hosts' SSH keys, which cloud-init printed to the console at the first boot.

        The console's output comes through EC2's API, so it is as trustworthy as the account; a network scan is not. If
        the keys of an instance are known, they are not read again, because later output replaces the first.
        """
        file = Path(self.options["known_hosts"] or "/nonexistent")
        entries = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        lines = []
        end = time.monotonic() + self.options["timeout"]
        for host in hosts:
            keys = [line[1:3] for line in entries if line[0] == host["address"] and line[3:] == [host["id"]]]
            while not keys:
                output = self.ec2.get_console_output(InstanceId=host["id"], Latest=True).get("Output", "")
                match = HOST_KEYS.search(output)
                keys = [list(key) for key in HOST_KEY.findall(match[1])] if match else []
                if not keys and time.monotonic() > end:
                    raise RefusedError(
                        f"{host['name']} ({host['id']}) showed no SSH keys in {self.options['timeout']} s;"
                        " read its console, then repeat aws.yml"
                    )
                if not keys:
                    time.sleep(LOOK_SECONDS)
            lines += [" ".join([host["address"], *key, host["id"]]) for key in keys]
        return lines

    # ---- absent -----------------------------------------------------------------------------------------------------

    def absent(self) -> list[str]:
        """Removes the project's resources. Returns messages on those that remain, and on others that have its name."""
        instances = self.instances([*ALIVE, "shutting-down"])
        going = [instance["InstanceId"] for instance in instances if instance["State"]["Name"] != "shutting-down"]
        if going:
            self.do(f"terminate {', '.join(going)}", self.ec2.terminate_instances, InstanceIds=going)
        if not self.check:
            self.wait("instance_terminated", instances)
        remaining = []
        remove: dict[str, Callable[[dict[str, Any]], tuple[Callable[..., dict[str, Any]], dict[str, Any]]]] = {
            "security group": lambda resource: (self.ec2.delete_security_group, {"GroupId": resource["GroupId"]}),
            "placement group": lambda resource: (self.ec2.delete_placement_group, {"GroupName": resource["GroupName"]}),
            "key pair": lambda resource: (self.ec2.delete_key_pair, {"KeyName": resource["KeyName"]}),
        }
        for kind, (call, result, key, name) in self.kinds().items():
            for resource in self.tagged(call, result):
                delete, arguments = remove[kind](resource)
                try:
                    self.do(f"remove {kind} {resource[key]}", delete, **arguments)
                except ClientError as error:
                    remaining.append(f"{kind} {resource[key]} has the tag and was not removed: {error}")
            remaining += [
                f"{kind} {foreign[key]} is called {self.project} and has no tag {TAG}={self.project}"
                for foreign in self.named(call, result, name)
            ]
        volumes = [] if self.check else self.tagged(self.ec2.describe_volumes, "Volumes")
        remaining += [f"volume {volume['VolumeId']} has the tag and is {volume['State']}" for volume in volumes]
        return remaining


def tags_of(resource: dict[str, Any]) -> dict[str, str]:
    """Returns the tags of a resource as a dictionary."""
    return {tag["Key"]: tag["Value"] for tag in resource.get("Tags", [])}


def group_of(instance: dict[str, Any]) -> str:
    """Returns the group of an instance: database or client."""
    return tags_of(instance).get(GROUP, "database")


def family_of(kind: str) -> str:
    """Returns the first letters of an instance type: i for i3en.6xlarge, c for c6i.8xlarge."""
    return re.sub("[^a-z].*", "", kind)


def number_of(instance: dict[str, Any]) -> int:
    """Returns the number in the instance's name, or a very large number if the instance has no name yet."""
    number = re.search(r"-(\d+)$", tags_of(instance).get("Name", "").removeprefix(tags_of(instance).get(TAG, "")))
    return int(number[1]) if number else 1 << 30


def rule_of(rule: dict[str, Any]) -> tuple[str, str]:
    """Returns the traffic that a rule allows, and its source."""
    ports = "" if rule["IpProtocol"] == "-1" else f" {rule.get('FromPort')}-{rule.get('ToPort')}"
    source = rule.get("ReferencedGroupInfo", {}).get("GroupId")
    return rule["IpProtocol"] + ports, str(
        source or rule.get("CidrIpv4") or rule.get("CidrIpv6") or rule.get("PrefixListId")
    )


def main() -> None:
    """Reads the parameters, makes the changes, and returns the result to Ansible."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "project": {"type": "str", "required": True},  # name and tag of all resources
            "region": {"type": "str", "required": True},
            "count": {"type": "int", "default": 4},  # number of hosts for databases
            "type": {"type": "str"},
            "clients": {"type": "int", "default": 0},  # number of hosts for clients
            "client_type": {"type": "str", "default": ""},
            "hours": {"type": "float", "default": 0},  # until all end; 0: at the end of existing ones, or 8 h
            "user_data": {"type": "str", "default": ""},  # script; @UNTIL@ stands for the end
            "image": {"type": "str", "default": ""},  # id from the cluster's inventory, if there is one
            "image_owner": {"type": "str"},  # account that published the image
            "image_name": {"type": "str"},  # pattern; the newest image that matches is used
            "public_key": {"type": "str", "no_log": False},  # public SSH key for login, as in its file
            "controller": {"type": "str"},  # ADDRESS/BITS from which SSH is allowed
            "subnet": {"type": "str", "default": ""},  # id; empty: a default subnet in a zone with all types
            "disk_gb": {"type": "int", "default": 30},  # system disk; databases use the instance's own disks
            "known_hosts": {"type": "path"},  # file with keys that are known from an earlier call
            "timeout": {"type": "int", "default": 600},  # seconds to wait for the start, and then for keys
        },
        required_if=[("state", "present", ["type", "image_owner", "image_name", "public_key", "controller"])],
        supports_check_mode=True,
    )
    if boto3 is None:
        module.fail_json(msg="the Python package boto3 is missing: ../setup.sh aws installs it")
    answer: dict[str, Any] = {}
    try:
        cluster = Cluster(module.params, module.check_mode)
        answer["ran"] = cluster.ran()
        if module.params["state"] == "absent":
            answer["left"] = cluster.absent()
        else:
            cluster.present()
            answer["image"] = cluster.image
            if not module.check_mode:
                answer["until"] = cluster.ends()
                answer["hosts"] = cluster.hosts()
                answer["known_hosts"] = cluster.known_hosts(answer["hosts"])
    except (RefusedError, BotoCoreError, ClientError) as error:
        module.fail_json(msg=str(error))
    answer |= {"todo": cluster.todo, "launched": dict(cluster.launched), "notes": cluster.notes}
    module.exit_json(changed=bool(cluster.todo), **answer)


if __name__ == "__main__":
    main()
