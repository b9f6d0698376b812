#!/usr/bin/env bash
# Tests that SSH always checks host keys: no file of the project turns the check off. For every inventory, Ansible must report that the check is on.
set -euo pipefail
ansible=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
cd -- "${ansible%/*}"

off='host_key_checking *[=:] *(false|no|0)|StrictHostKeyChecking[= ]*"?(no|off|accept-new|ask)|UserKnownHostsFile[= ]*"?/dev/null'
found=$(git grep -nIiE "$off" -- . ':!ansible/tests/host_keys_test.sh') || true
[[ -z $found ]] || { printf 'FAILED: host keys are not checked:\n%s\n' "$found" >&2; exit 1; }

cd -- "$ansible"
unset ANSIBLE_HOST_KEY_CHECKING
setting=$("$ansible/../.venv/bin/ansible-config" dump --format json)
"$ansible/../.venv/bin/python" -c '
import json, sys
[setting] = [one for one in json.load(sys.stdin) if one.get("name") == "HOST_KEY_CHECKING"]
sys.exit(setting["value"] is not True and f"FAILED: {setting}")' <<< "$setting"
echo 'host keys: all passed'
