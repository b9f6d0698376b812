"""Tests the program that shuts down an EC2 host, with a server that answers like the metadata service."""

import http.server
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dohyo.places import ANSIBLE

USER_DATA = ANSIBLE / "templates" / "aws_user_data.sh"


@pytest.fixture
def tags() -> Iterator[dict[str, str]]:
    """Serves the instance's tags. Yields the tags, and the server's URL as `url`."""
    values: dict[str, str] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            is_valid = self.path == "/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
            self.answer(200 if is_valid else 400, "token")

        def do_GET(self) -> None:
            value = values.get(self.path.removeprefix("/meta-data/tags/instance/"))
            is_valid = self.headers["X-aws-ec2-metadata-token"] == "token"
            self.answer(401 if not is_valid else 404 if value is None else 200, value or "")

        def answer(self, code: int, text: str) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    values["url"] = f"http://127.0.0.1:{server.server_address[1]}"
    yield values
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_host_ends_itself_at_the_time_in_its_tag(tags: dict[str, str], tmp_path: Path) -> None:
    # Replace the system's paths with the test's folder, and shutdown with a program that records its call.
    deadline, called = tmp_path / "until", tmp_path / "called"
    text = re.split(r"PROGRAM'?\n", USER_DATA.read_text())[1]
    program = text.replace("http://169.254.169.254/latest", tags["url"]).replace("/var/lib/dohyo-until", str(deadline))
    assert program.count(str(tmp_path)) == program.count(tags["url"]) == 1
    (tmp_path / "shutdown").write_text(f'#!/bin/sh\necho "$@" > {called}\n')
    (tmp_path / "shutdown").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def ends(before: float, tag: float | None) -> bool:
        called.unlink(missing_ok=True)
        deadline.write_text(str(int(time.time() + before)))
        tags.pop("dohyo:until", None)
        if tag is not None:
            tags["dohyo:until"] = str(int(time.time() + tag))
        subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True)
        return called.exists()

    assert not ends(before=600, tag=600)
    assert ends(before=600, tag=-1)
    assert called.read_text() == "-h now\n"
    # The tag extended the deadline, and the new deadline is stored.
    assert not ends(before=-1, tag=600)
    assert int(deadline.read_text()) > time.time() + 500
    # Without a response, the stored deadline applies.
    assert ends(before=-1, tag=None)
    assert not ends(before=600, tag=None)


def test_the_units_are_those_that_systemd_takes() -> None:
    service, timer = re.split(r"UNIT'?\n", USER_DATA.read_text())[1::2]
    assert service.splitlines() == ["[Service]", "Type=oneshot", "ExecStart=/usr/local/sbin/dohyo-end"]
    assert timer.splitlines() == [
        "[Timer]",
        "OnBootSec=1min",
        "OnUnitActiveSec=1min",
        "[Install]",
        "WantedBy=timers.target",
    ]
