"""Variables that Ansible gets as data. To Ansible a string of a file of variables (``-e @FILE``) is a Jinja template,
also `{{ lookup("pipe", …) }}`, which runs a command; but below YAML's tag ``!unsafe`` strings, keys too, are only text.
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
    """Tags every mapping and every list: ansible-core before 2.19 loses what is in untagged ones below a tag.

    A tagged single string would be parsed again without its quotes, "4.10" as a number.
    """


_Dumper.add_representer(dict, lambda dumper, value: dumper.represent_mapping("!unsafe", value))
_Dumper.add_representer(list, lambda dumper, value: dumper.represent_sequence("!unsafe", value))


def as_data(variables: Mapping[str, Any]) -> str:
    """The YAML text with which ``ansible-playbook -e @FILE`` has these variables, none of them a template.

    :param variables: of JSON's types; as in JSON, keys become strings
    """
    return yaml.dump(json.loads(json.dumps(variables)), Dumper=_Dumper, sort_keys=False)


def check_path(path: Path, shown: str) -> None:
    """Refuses a path that Ansible would not take as it is: it looks for variables of the environment in every path.

    :param shown: what the path is called in the message
    :raises BadInputError: naming what is wrong with it
    """
    plain_text.check(str(path), shown)
    if found := re.search(r"\$(\w+|\{[^}]*\})", str(path)):
        raise BadInputError(f"{shown}: to Ansible {found[0]} in a path is a variable of the environment; rename it")
