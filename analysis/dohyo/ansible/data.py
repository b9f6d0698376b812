"""Passes variables to Ansible as data. To Ansible, a string in a file of variables (``-e @FILE``) is a Jinja template,
including `{{ lookup("pipe", …) }}`, which runs a command. Below YAML's tag ``!unsafe``, strings and keys are only text.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dohyo import plain_text
from dohyo.bad_input import BadInputError


class _Dumper(yaml.SafeDumper):
    """Tags every mapping and list, because ansible-core before 2.19 drops the content of untagged ones below a tag.

    Single strings are not tagged: Ansible would parse them again without their quotes, "4.10" as a number.
    """


_Dumper.add_representer(dict, lambda dumper, value: dumper.represent_mapping("!unsafe", value))
_Dumper.add_representer(list, lambda dumper, value: dumper.represent_sequence("!unsafe", value))


def as_data(variables: Mapping[str, Any]) -> str:
    """Returns YAML text from which ``ansible-playbook -e @FILE`` reads these variables, none of them as a template.

    :param variables: variables of JSON's types; as in JSON, keys become strings
    """
    return yaml.dump(json.loads(json.dumps(variables)), Dumper=_Dumper, sort_keys=False)


def check_path(path: Path, label: str) -> None:
    """Rejects a path that Ansible would change, because it expands variables of the environment in every path.

    :param label: name of the path in the message
    :raises BadInputError: naming what is wrong with it
    """
    plain_text.check(str(path), label)
    if variable := re.search(r"\$(\w+|\{[^}]*\})", str(path)):
        raise BadInputError(f"{label}: Ansible reads {variable[0]} as a variable of the environment; rename it")
