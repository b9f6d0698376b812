"""Base class of Apache's servers on the JVM, whose jars come from Maven Central or from an archive."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dohyo.systems.option import SHA256, option
from dohyo.systems.records import Archive, Jvm
from dohyo.systems.rendering import option_lines
from dohyo.systems.system import System

VERSION = "[0-9][0-9A-Za-z.-]*"


@dataclass(frozen=True, kw_only=True)
class OnJvm(System):
    """A server with several release series that support different JDKs."""

    keeps_versions = True
    # Supported JDKs of each series, best first. docs/versions.md lists the combinations that were tested.
    jdks_by_series: ClassVar[Mapping[str, Sequence[int]]]
    # Folders in the archive with the server's classpath, and a pattern for the jar whose name contains the version.
    jar_folders: ClassVar[Sequence[str]]
    main_jar: ClassVar[str]
    # Suffix of a series in messages.
    series_suffix: ClassVar[str] = ".x"

    version: str
    archive: str = option(
        "",
        "Archive with the server, as Apache offers it (…-bin.tar.gz), instead of Maven Central's jars: a URL, or a file"
        " on the control machine. Set the option version to the version of the archive.",
    )
    archive_checksum: str = option("", "SHA-256 of the archive, 64 hexadecimal digits.", pattern=SHA256)
    jdk: int = option(None, "Major version of the server's JDK; by default, the best that the version supports.")
    gc: str = option(
        "default",
        "Garbage collector of the server, a named set of options (docs/versions.md).",
        choices=("default", "CMS", "G1", "ZGC", "Shenandoah", "Parallel"),
    )
    gc_threads: int = option(0, "Number of garbage collector threads; 0: one per processor, at most 8.")
    java_options: list[str] = option([], "Further options for the JVMs of the server's processes.")

    def default_jdk(self) -> int:
        """Returns the best JDK for the version."""
        return self.jdks[0]

    @property
    def series(self) -> str:
        """First two numbers of the version."""
        return ".".join(re.findall("[0-9]+", self.version)[:2])

    @property
    def jdks(self) -> Sequence[int]:
        """JDKs that the version supports, best first."""
        return self.jdks_by_series.get(self.series, [17])

    @property
    def impossible(self) -> str:
        """Reason why this version cannot run; empty if it can run."""
        if self.series not in self.jdks_by_series:
            return (
                f"{self.role}_version={self.version} is not a version known to run; choose one of"
                f" {', '.join(f'{series}{self.series_suffix}' for series in self.jdks_by_series)}"
            )
        if self.jdk not in self.jdks:
            product = self.title.removeprefix("Apache ")
            jdks = " or ".join(map(str, self.jdks))
            return f"{product} {self.series} does not run on JDK {self.jdk}; set {self.role}_jdk to {jdks}"
        return ""

    @property
    def unavailable(self) -> str:
        return self.impossible or self.archive_problem

    @property
    def installed_version(self) -> str:
        """The version, followed by the first 12 digits of the checksum if the server comes from an archive."""
        return self.version + (f"-{self.archive_checksum.lower()[:12]}" if self.archive else "")

    @property
    def server_archive(self) -> Archive:
        return Archive(
            variable=f"{self.role}_archive",
            user_source=self.archive,
            checksum=f"{self.role}_archive_checksum",
            sha256=self.archive_checksum.lower(),
            jars=self.jar_folders,
            required_jar=f"^{self.main_jar}-{re.escape(self.version)}[.]jar$",
        )

    @property
    @abstractmethod
    def collector(self) -> list[str]:
        """JVM options of the collector named ``default``."""

    @property
    def jvm(self) -> Jvm:
        context = self.context
        return Jvm(
            jdk=self.jdk,
            gc=self.gc,
            gc_threads=self.gc_threads,
            gc_default=self.collector,
            home=context.named_jdk(self.jdk),
            installed=f"{context.home}/install/jdk/{self.jdk}",
        )

    @property
    def jvm_options(self) -> list[str]:
        """Lines of conf/jvm.options. The command repeats them, because JDK 8 cannot read an options file."""
        return option_lines(self.render("jvm.options"))

    def java(self, options: Sequence[str], main: Sequence[str]) -> list[str]:
        """Returns the command that runs a main class of the server with its arguments."""
        return [f"{self.context.java_home}/bin/java", *options, "-cp", f"conf:{self.lib}/*", *main]

    @property
    def programs(self) -> list[str]:
        return [self.lib]

    @property
    def temporary(self) -> str:
        """Folder for the JVM's temporary files. A killed server leaves them behind; they are removed with the data."""
        return f"{self.data[0]}/tmp"  # noqa: S108 - a folder that only Dohyo uses

    @property
    def folders(self) -> list[str]:
        return [*super().folders, self.temporary]
