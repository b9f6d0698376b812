#!/usr/bin/env bash
# Tests the script fetch-jdk of the role jdk with archives that the user names; needs no internet access.
set -euo pipefail
fetch=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/../roles/jdk/files/fetch-jdk
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# Create a fake JDK that contains only java. Like JDK 8, it has a second java in a deeper folder.
mkdir -p "$work"/jdk8u1-b2/{jre/,}bin
cat > "$work/jdk8u1-b2/bin/java" << 'END'
#!/bin/sh
echo '    java.specification.version = 1.8' >&2
END
chmod +x "$work/jdk8u1-b2/bin/java"
cp "$work/jdk8u1-b2/bin/java" "$work/jdk8u1-b2/jre/bin/java"
tar -czf "$work/jdk.tar.gz" -C "$work" jdk8u1-b2
sum=$(sha256sum < "$work/jdk.tar.gz" | cut -d ' ' -f 1)

"$fetch" 8 "$work/from-file" "$work/jdk.tar.gz" "$sum" > /dev/null || fail 'an archive with the right checksum was refused'
[[ -x $work/from-file/bin/java && -x $work/from-file/jre/bin/java ]] || fail 'the JDK is incomplete'

refuses() { # WORDS ARGUMENTS...: checks that fetch-jdk fails with these words, and leaves nothing behind
  local words=$1 said
  shift
  said=$("$fetch" "$@" 2>&1) && fail "not refused: $*"
  [[ $said == *"$words"* ]] || fail "said '$said', not '$words'"
  [[ -z $(compgen -G "$2*") ]] || fail "left something: $2"
}
refuses "its SHA-256 is $sum, and the given checksum says 123" 8 "$work/bad-sum" "$work/jdk.tar.gz" 123
refuses "its sha256 is missing" 8 "$work/no-sum" "$work/jdk.tar.gz"
refuses "this is Java '1.8'" 11 "$work/bad-version" "$work/jdk.tar.gz" "$sum"
refuses "only https:// is accepted" 8 "$work/plain" http://127.0.0.1:9/jdk.tar.gz "$sum"
refuses "its sha256 is missing" 8 "$work/plain-no-sum" http://127.0.0.1:9/jdk.tar.gz
refuses "none.tar.gz: no such file on this machine" 8 "$work/missing" "$work/none.tar.gz" "$sum"
# Test hostile archives, and a file that is not an archive.
mkdir "$work/other"
echo > "$work/other/text"
tar -czf "$work/other.tar.gz" -C "$work" other
tar -czPf "$work/above.tar.gz" -C "$work" --transform 's|^other|../escaped|' other/text
for name in other.tar.gz:"it has no file bin/java" above.tar.gz:"it cannot be unpacked" other/text:"it cannot be unpacked"; do
  archive=$work/${name%%:*}
  refuses "${name#*:}" 8 "$work/none" "$archive" "$(sha256sum < "$archive" | cut -d ' ' -f 1)"
done
[[ ! -e $work/escaped ]] || fail 'a file was unpacked outside the folder'
chmod u+s "$work/jdk8u1-b2/bin/java"
tar -czf "$work/suid.tar.gz" --owner=1234 -C "$work" jdk8u1-b2
"$fetch" 8 "$work/from-suid" "$work/suid.tar.gz" "$(sha256sum < "$work/suid.tar.gz" | cut -d ' ' -f 1)" > /dev/null || fail 'an archive with special modes was refused'
[[ -O $work/from-suid/bin/java && ! -u $work/from-suid/bin/java ]] || fail 'the owner or the set-user-id bit from the archive was kept'
echo 'fetch-jdk: all passed'
