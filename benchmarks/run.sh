#!/usr/bin/env bash
# Our client against stock YCSB's, on the same server, in turns: ./benchmarks/run.sh --help
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
"$root/setup.sh"
exec "$root/.venv/bin/python" "$root/benchmarks/versus_stock.py" "$@"
