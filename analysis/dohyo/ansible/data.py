"""Variables for Ansible whose strings are data. To Ansible a string of a file of variables (``-e @FILE``) is a Jinja
template, also `{{ lookup("pipe", …) }}`, which runs a command; one that carries YAML's tag ``!unsafe`` is only text.
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
    """Tags every string, keys of mappings too."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML gives it by this name
        """Nothing is written as a reference: what is there twice stands there twice."""
        return True


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("!unsafe", text, style='"'))


def as_data(variables: Mapping[str, Any]) -> str:
    """The YAML text with which ``ansible-playbook -e @FILE`` has these variables, none of them a template.

    :param variables: of JSON's types; as in JSON, keys become strings
    """
    text: str = yaml.dump(json.loads(json.dumps(variables)), Dumper=_Dumper, sort_keys=False)
    return text


def check_path(path: Path, shown: str) -> None:
    """Refuses a path that Ansible would not take as it is: it looks for variables of the environment in every path.

    :param shown: what the path is called in the message
    :raises BadInputError: naming what is wrong with it
    """
    plain_text.check(str(path), shown)
    if found := re.search(r"\$(\w+|\{[^}]*\})", str(path)):
        raise BadInputError(f"{shown}: to Ansible {found[0]} in a path is a variable of the environment; rename it")
