#!/usr/bin/env bash
# ./run.sh SCENARIO [options]: installs databases, measures them and prints the table of results. See ./run.sh --help.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

unset PYTHONDONTWRITEBYTECODE # otherwise each process would compile Ansible and Dohyo's modules again

"$root/setup.sh" python
# `dohyo run` checks its arguments first, and builds the client only if they are valid.
exec "$root/.venv/bin/dohyo" run "$@"
