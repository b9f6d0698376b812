"""Serves the API of EC2 for aws_test.sh: moto's server, with additions that aws.yml needs.

Usage: aws_server.py STATE. Listens on a free port of loopback and writes its URL to STATE/url. The additions are images
like Debian's, placement groups, the price of one instance type and the quota of virtual processors. Zones may lack
capacity, and a booted instance shows its SSH host keys on its console. The test reads the host keys from
STATE/INSTANCE-ID, and the names of all calls that changed something from STATE/changes. It writes STATE/quota and
STATE/full. A line of STATE/full contains a zone, a type, and the error with which the type fails to start there.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Any

state = Path(sys.argv[1])

IMAGE = {
    "state": "available",
    "public": True,
    "root_device_type": "ebs",
    "root_device_name": "/dev/xvda",
    "architecture": "x86_64",
    "virtualization_type": "hvm",
}
IMAGES = [
    ("ami-0000000a", "136693071363", "debian-12-amd64-20260901-1", "2026-09-01T00:00:00.000Z"),
    ("ami-0000000b", "136693071363", "debian-12-amd64-20261101-1", "2026-11-01T00:00:00.000Z"),
    ("ami-0000000c", "136693071363", "debian-12-amd64-20261001-1", "2026-10-01T00:00:00.000Z"),
    # A newer image with a similar name in another account, which must not be used.
    ("ami-0000000d", "999999999999", "debian-12-amd64-20261102-1", "2026-11-02T00:00:00.000Z"),
]
PRICED = {"instanceType": "i3en.3xlarge", "regionCode": "us-east-1"}

# Set this before the import, during which moto reads its images.
os.environ["MOTO_AMIS_PATH"] = str(state / "images.json")
(state / "images.json").write_text(
    json.dumps([IMAGE | dict(zip(("ami_id", "owner_id", "name", "creation_date"), i, strict=True)) for i in IMAGES])
)

from moto.core.responses import ActionResult  # noqa: E402
from moto.ec2.exceptions import EC2ClientError  # noqa: E402
from moto.ec2.models import ec2_backends  # noqa: E402
from moto.ec2.responses import EC2Response  # noqa: E402
from moto.ec2.utils import Base64EncodedString  # noqa: E402
from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402
from werkzeug.wrappers import Request, Response  # noqa: E402

placement_groups: dict[str, dict[str, Any]] = {}


def create_placement_group(call: Any) -> ActionResult:
    """Adds a placement group."""
    name = call._get_param("GroupName")
    placement_groups[name] = {
        "GroupId": f"pg-{secrets.token_hex(8)}",
        "GroupName": name,
        "Strategy": call._get_param("Strategy"),
        "State": "available",
        "Tags": [tag for part in call._get_param("TagSpecifications", []) for tag in part["Tags"]],
    }
    return ActionResult({"PlacementGroup": placement_groups[name]})


def describe_placement_groups(call: Any) -> ActionResult:
    """Returns the placement groups that pass all filters, by name and by tag."""

    def passes(group: dict[str, Any]) -> bool:
        values = {f"tag:{tag['Key']}": tag["Value"] for tag in group["Tags"]} | {"group-name": group["GroupName"]}
        return all(values.get(one["Name"]) in one["Values"] for one in call._get_param("Filters", []))

    return ActionResult({"PlacementGroups": [group for group in placement_groups.values() if passes(group)]})


def delete_placement_group(call: Any) -> ActionResult:
    """Removes a placement group."""
    del placement_groups[call._get_param("GroupName")]
    return ActionResult({})


moto_run_instances = EC2Response.run_instances


def run_instances(call: Any) -> ActionResult:
    """Starts instances with moto if the zone has capacity, and puts them into the placement group."""
    subnet = call._get_param("NetworkInterfaces", [{}])[0].get("SubnetId")
    if subnet:
        zone = ec2_backends[call.current_account][call.region].get_subnet(subnet).availability_zone
        for line in (state / "full").read_text().splitlines() if (state / "full").exists() else []:
            if line.split()[:2] == [zone, call._get_param("InstanceType")]:
                raise EC2ClientError(line.split()[2], f"We currently do not have sufficient capacity in {zone}")
    group = placement_groups[call._get_param("Placement.GroupName")] if call._get_param("Placement.GroupName") else None
    answer = moto_run_instances(call)
    for instance in answer.result.instances if group else []:
        instance.placement.group_name = group["GroupName"]
    return answer


def get_console_output(call: Any) -> ActionResult:
    """Returns the console's output after the first boot."""
    file = state / call._get_param("InstanceId")
    if not file.exists():
        blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + secrets.token_bytes(32)
        file.write_text(f"ssh-ed25519 {base64.b64encode(blob).decode()}")
    lines = [
        "Cloud-init v. 22.4.2 running 'modules:final'",
        "-----BEGIN SSH HOST KEY FINGERPRINTS-----",
        "256 SHA256:xxxxxxxx root@ip-172-31-0-1 (ED25519)",
        "-----END SSH HOST KEY FINGERPRINTS-----",
        "-----BEGIN SSH HOST KEY KEYS-----",
        f"{file.read_text()} root@ip-172-31-0-1",
        "-----END SSH HOST KEY KEYS-----",
    ]
    return ActionResult({"InstanceId": file.name, "Output": Base64EncodedString.from_raw_string("\r\n".join(lines))})


for action in (
    create_placement_group,
    describe_placement_groups,
    delete_placement_group,
    run_instances,
    get_console_output,
):
    setattr(EC2Response, action.__name__, action)

moto = DomainDispatcherApplication(create_backend_app)


def serve(environ: dict[str, Any], start_response: Any) -> Any:
    """Answers requests for quotas and prices, and passes all others to moto."""
    body = Request(environ).get_data()
    environ["wsgi.input"] = io.BytesIO(body)
    if environ.get("HTTP_X_AMZ_TARGET") == "ServiceQuotasV20190624.GetServiceQuota":
        code = json.loads(body)["QuotaCode"]
        if not (state / "quota").exists():
            refusal = {"__type": "AccessDeniedException", "Message": "not authorized"}
            return Response(json.dumps(refusal), status=400)(environ, start_response)
        name = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
        quota = {"QuotaCode": code, "QuotaName": name, "Value": float((state / "quota").read_text())}
        return Response(json.dumps({"Quota": quota}))(environ, start_response)
    if environ.get("HTTP_X_AMZ_TARGET") != "AWSPriceListService.GetProducts":
        action = re.search(rb"Action=(\w+)", body)
        if action and not action[1].startswith((b"Describe", b"Get")):
            with (state / "changes").open("ab") as file:
                file.write(action[1] + b"\n")
        return moto(environ, start_response)
    filters = {filter_["Field"]: filter_["Value"] for filter_ in json.loads(body)["Filters"]}
    price = {"unit": "Hrs", "pricePerUnit": {"USD": "1.4000000000"}}
    product = {"terms": {"OnDemand": {"A.B": {"priceDimensions": {"A.B.C": price}}}}}
    prices = [json.dumps(product)] if filters.items() >= PRICED.items() else []
    return Response(json.dumps({"FormatVersion": "aws_v1", "PriceList": prices}))(environ, start_response)


server = make_server("127.0.0.1", 0, serve, threaded=True)
(state / "url").write_text(f"http://127.0.0.1:{server.port}")
server.serve_forever()
