"""Creates finished experiments, such as users may get from others, and runs the command `dohyo`."""

import ctypes
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from dohyo import cli
from dohyo.evidence import experiment_folder
from dohyo.running import experiment
from dohyo.scenario.scenario import Scenario
from support.evidence import trial

SCENARIO = Scenario("small", {"recordcount": "10000", "operationcount": "1000", "systems": "cassandra,hbase"}, {})
# Constants of prctl(2) and capset(2).
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
CAPABILITY_VERSION_3 = 0x20080522


class Answer(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def dohyo(*arguments: object, encoding: str = "utf-8", results: Path | None = None) -> Answer:
    """Runs the command in this process, as a shell would. An uncaught exception fails the test.

    :param results: folder to use as results/ of the checkout; by default a new one
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    with ExitStack() as all_of, TemporaryDirectory() as empty:
        for module in (cli, experiment, experiment_folder):
            all_of.enter_context(patch.object(module, "RESULTS", results or Path(empty)))
        all_of.enter_context(redirect_stdout(out))
        all_of.enter_context(redirect_stderr(err))
        code = cli.main([*map(str, arguments)])
    texts = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        texts.append(stream.buffer.getvalue().decode(encoding))
    return Answer(code, *texts)


def finished(folder: Path, *, sealed: bool = True) -> Path:
    """Creates an experiment of two successful trials, so that --resume has nothing to repeat.

    :param sealed: True if each trial has a manifest
    """
    the_experiment = experiment.create(
        SCENARIO, experiment.new_folder(SCENARIO, folder), {"inventory": None, "named": True}
    )
    shutil.rmtree(folder / "raw")
    for number, planned in enumerate(the_experiment.trials, start=1):
        trial(folder, number, planned.system, repeats=1)
        if sealed:
            the_experiment.seal(planned)
    the_experiment.update(status="done")
    return folder


@contextmanager
def measuring(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Starts a process that locks the results folder for an experiment, and yields that process."""
    hold = (
        "import sys; from pathlib import Path; from dohyo.running import experiment\n"
        "folder = Path(sys.argv[1]); experiment.RESULTS = folder.parent\n"
        "with experiment.only_one() as measuring: measuring(folder); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Returns the contents of all files below a folder by path; None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def without_rights(*arguments: str) -> Answer:
    """Runs the command as a user who cannot override the permissions of files."""
    with ProcessPoolExecutor(1, get_context("fork"), _be_bound) as pool:
        return pool.submit(dohyo, *arguments).result(timeout=120)


def _be_bound() -> None:
    """Drops the capabilities that let root ignore file permissions, for this process and those that it starts."""
    system = ctypes.CDLL(None, use_errno=True)
    lost = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH
    if os.geteuid() == 0:
        for number in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert system.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Effective, permitted and inheritable capabilities: three words for the first 32, then three for the others.
    sets = (ctypes.c_uint32 * 6)()
    assert system.capget(header, sets) == 0
    sets[:3] = [cpus & ~lost for cpus in sets[:3]]
    assert system.capset(header, sets) == 0
