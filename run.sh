#!/usr/bin/env bash
# ./run.sh SCENARIO [options]: one comparison of databases, from nothing to the table. See ./run.sh --help.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

unset PYTHONDONTWRITEBYTECODE # else each of many programs would compile Ansible and ours anew

"$root/setup.sh" python
# `dohyo run` checks what it is asked for first, and has the client built only then.
exec "$root/.venv/bin/dohyo" run "$@"
