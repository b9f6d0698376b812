#!/usr/bin/env bash
# Compares Dohyo's client with the stock YCSB client; they run alternately on one server. Options: ./benchmarks/run.sh --help
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
"$root/setup.sh"
exec "$root/.venv/bin/python" "$root/benchmarks/versus_stock.py" "$@"
