"""Ansible module: requests the prices of EC2 instances from AWS's Price List API, which no other module supports.

They are on-demand prices for Linux on shared hardware. Returns ``usd_per_hour``, known prices by instance type,
and ``reasons`` for types without a price. The module does not fail if the API does not respond or lacks a price.
"""

from __future__ import annotations

import json

from ansible.module_utils.basic import AnsibleModule

try:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:
    boto3 = None

# Region of the API's endpoint, which returns the prices of all regions.
API_REGION = "us-east-1"


def ask(region: str, instance_type: str) -> float:
    """Returns the price in US dollars per hour; raises LookupError if the API has no price."""
    quick = Config(connect_timeout=5, read_timeout=15, retries={"max_attempts": 1})
    filters = {
        "instanceType": instance_type,
        "regionCode": region,
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
    }
    products = boto3.client("pricing", region_name=API_REGION, config=quick).get_products(
        ServiceCode="AmazonEC2",
        Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in filters.items()],
    )["PriceList"]
    for product in map(json.loads, products):
        for term in product["terms"].get("OnDemand", {}).values():
            for dimension in term["priceDimensions"].values():
                if dimension["unit"] == "Hrs" and float(dimension["pricePerUnit"]["USD"]) > 0:
                    return float(dimension["pricePerUnit"]["USD"])
    raise LookupError(f"the AWS Price List API has no price for {instance_type} in {region}")


def main() -> None:
    """Reads the parameters, requests the prices, and returns them to Ansible."""
    module = AnsibleModule(
        argument_spec={
            "region": {"type": "str", "required": True},
            "types": {"type": "list", "elements": "str", "required": True},
        },
        supports_check_mode=True,
    )
    if boto3 is None:
        module.fail_json(msg="the Python package boto3 is missing: ../setup.sh aws installs it")
    prices, reasons = {}, []
    for instance_type in module.params["types"]:
        try:
            prices[instance_type] = ask(module.params["region"], instance_type)
        except (BotoCoreError, ClientError, LookupError) as error:
            reasons.append(str(error))
    module.exit_json(changed=False, usd_per_hour=prices, reasons=reasons)


if __name__ == "__main__":
    main()
