#!/bin/sh
# Runs at the first boot of a host on EC2 (aws.yml): installs a timer that checks once per minute whether the host must shut down.
# The time of the shutdown is in the tag dohyo:until, so that a second run of aws.yml can change it. The host reads the tag without credentials. The last
# value is saved, in case the tag cannot be read.
set -eu
cat > /usr/local/sbin/dohyo-end << 'PROGRAM'
#!/usr/bin/env python3
"""Shuts this host down at the planned time, so that EC2 terminates it."""
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

base, kept = "http://169.254.169.254/latest", Path("/var/lib/dohyo-until")


def ask(path, **request):
    return urllib.request.urlopen(urllib.request.Request(f"{base}/{path}", **request), timeout=5).read().decode()


try:
    token = ask("api/token", method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
    until = int(ask("meta-data/tags/instance/dohyo:until", headers={"X-aws-ec2-metadata-token": token}))
    if until != int(kept.read_text()):
        kept.write_text(f"{until}\n")
except (OSError, ValueError) as error:
    print(f"the tag dohyo:until cannot be read: {error}", file=sys.stderr)
if time.time() >= int(kept.read_text()):
    subprocess.run(["shutdown", "-h", "now"], check=True)
PROGRAM
chmod 755 /usr/local/sbin/dohyo-end
echo @UNTIL@ > /var/lib/dohyo-until
cat > /etc/systemd/system/dohyo-end.service << 'UNIT'
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/dohyo-end
UNIT
cat > /etc/systemd/system/dohyo-end.timer << 'UNIT'
[Timer]
OnBootSec=1min
OnUnitActiveSec=1min
[Install]
WantedBy=timers.target
UNIT
systemctl daemon-reload
systemctl enable --now dohyo-end.timer
