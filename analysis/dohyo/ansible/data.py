"""Passes variables to Ansible as data. To Ansible, a string in a variables file (``-e @FILE``) is a Jinja template,
including `{{ lookup("pipe", …) }}`, which runs a command. Under YAML's tag ``!unsafe``, strings and keys are only text.
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
    """Tags every mapping and list: inside a tagged one, ansible-core before 2.19 drops the content of untagged ones.

    Single strings are not tagged: Ansible would parse them again without quotes, which makes "4.10" a number.
    """


_Dumper.add_representer(dict, lambda dumper, value: dumper.represent_mapping("!unsafe", value))
_Dumper.add_representer(list, lambda dumper, value: dumper.represent_sequence("!unsafe", value))


def as_data(variables: Mapping[str, Any]) -> str:
    """Returns YAML text that ``ansible-playbook -e @FILE`` reads as plain values, never as templates.

    :param variables: variables whose values have JSON types; keys become strings, as in JSON
    """
    return yaml.dump(json.loads(json.dumps(variables)), Dumper=_Dumper, sort_keys=False)


def check_path(path: Path, label: str) -> None:
    """Rejects a path that Ansible would change, because it expands environment variables in every path.

    :param label: name of the path in the message
    :raises BadInputError: with a message that says what is wrong with the path
    """
    plain_text.check(str(path), label)
    if variable := re.search(r"\$(\w+|\{[^}]*\})", str(path)):
        raise BadInputError(f"{label}: Ansible reads {variable[0]} as an environment variable; rename it")
