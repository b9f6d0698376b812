#!/usr/bin/env bash
# Tests of the jdk role's fetch-jdk without the internet: an archive that the operator names.
set -euo pipefail
fetch=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/../roles/jdk/files/fetch-jdk
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# What counts of a JDK here is what its java says. One like that of version 8 has a second java, further down.
mkdir -p "$work"/jdk8u1-b2/{jre/,}bin
cat > "$work/jdk8u1-b2/bin/java" << 'END'
#!/bin/sh
echo '    java.specification.version = 1.8' >&2
END
chmod +x "$work/jdk8u1-b2/bin/java"
cp "$work/jdk8u1-b2/bin/java" "$work/jdk8u1-b2/jre/bin/java"
tar -czf "$work/jdk.tar.gz" -C "$work" jdk8u1-b2
sum=$(sha256sum < "$work/jdk.tar.gz" | cut -d ' ' -f 1)

"$fetch" 8 "$work/from-file" "$work/jdk.tar.gz" "$sum" > /dev/null || fail 'a file with its sum'
[[ -x $work/from-file/bin/java && -x $work/from-file/jre/bin/java ]] || fail 'the whole JDK is there'

refuses() { # WORDS ARGUMENTS...: says so, and leaves nothing
  local words=$1 said
  shift
  said=$("$fetch" "$@" 2>&1) && fail "not refused: $*"
  [[ $said == *"$words"* ]] || fail "said '$said', not '$words'"
  [[ -z $(compgen -G "$2*") ]] || fail "left something: $2"
}
refuses "its SHA-256 is $sum, and the checksum that was given says 123" 8 "$work/bad-sum" "$work/jdk.tar.gz" 123
refuses "its sha256 is missing" 8 "$work/no-sum" "$work/jdk.tar.gz"
refuses "this is Java '1.8'" 11 "$work/bad-version" "$work/jdk.tar.gz" "$sum"
refuses "No such file" 8 "$work/missing" "$work/none.tar.gz" "$sum"
refuses "only https:// is accepted" 8 "$work/plain" http://127.0.0.1:9/jdk.tar.gz "$sum"
refuses "its sha256 is missing" 8 "$work/plain-no-sum" http://127.0.0.1:9/jdk.tar.gz
echo 'fetch-jdk: all passed'
