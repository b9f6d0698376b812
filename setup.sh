#!/usr/bin/env bash
# Brings this machine to the point where Dohyo can work. run.sh and test.sh call it; calling it by hand is fine too.
#
#   ./setup.sh python   Python >= 3.11 and the project's venv (.venv) with the command `dohyo`
#   ./setup.sh aws      the same plus AWS's client, for ansible/aws.yml
#   ./setup.sh test     the same plus the linters and test tools, and a Chromium for the tests of the report's page
#   ./setup.sh client   JDK 17, Maven >= 3.6 and the built benchmark client
#   ./setup.sh          python and client
#
# What is missing is installed with apt-get (as root or with passwordless sudo); otherwise the command to type is
# printed. Nothing is done twice: each step leaves a stamp of its inputs in .setup/, beside its log.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
state="$root/.setup"

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: ERROR: %s\n' "$*" >&2; exit 1; }

# Runs a command with its output in .setup/NAME.log, whose errors (as pip, Maven and apt mark them) are shown when it fails.
logged() {
    local log="$state/$1.log"
    shift
    "$@" >"$log" 2>&1 && return
    # Maven puts the end of a colour before its first line.
    { grep -E -m 15 $'^(\e\\[[0-9;]*m)*(\\[ERROR\\]|ERROR|E:) ' "$log" || tail -n 15 "$log"; } >&2
    die "this failed: $* (the whole log: $log)"
}

# Installs the given Debian packages, or says how to. A name may be a function that prints the package's name: it is
# asked once before and once after the package lists are fetched, for only then it can know what there is.
install_packages() {
    local sudo=() names
    names=$(package_names "$@")
    command -v apt-get >/dev/null ||
        die "please install with this system's package manager: $names (Debian's names; yours may differ a little)"
    if ((EUID != 0)); then
        sudo -n true 2>/dev/null || die "please type: sudo apt-get update && sudo apt-get install -y $names"
        sudo=(sudo -n)
    fi
    logged apt "${sudo[@]}" apt-get -q update
    names=$(package_names "$@")
    say "installing with apt-get: $names"
    # shellcheck disable=SC2086 # several names
    logged apt "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $names
}

package_names() {
    local name names=()
    for name in "$@"; do
        if [[ $(type -t "$name") == function ]]; then name=$("$name"); fi
        names+=("$name")
    done
    echo "${names[*]}"
}

# ---- Python ---------------------------------------------------------------------------------------------------------

# Prints the first Python >= 3.11 that can make a venv (Debian's needs python3-venv for that).
find_python() {
    local name
    for name in python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3 /usr/bin/python3.{11,12,13,14}; do
        if "$name" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# The package of the oldest Python that is new enough and that this distribution carries; Ubuntu 22.04 has 3.11 beside its 3.10.
python_package() {
    local version
    for version in 3.11 3.12 3.13 3.14; do
        if apt-cache show "python$version-venv" >/dev/null 2>&1; then
            echo "python$version-venv"
            return
        fi
    done
    echo python3-venv
}

# What an installation from the requirements file $1 depends on, the place of the checkout included: a venv cannot move.
python_inputs() { printf '%s %s\n' "$root" "$(cat "$root/analysis/$1" "$root/analysis/pyproject.toml" | sha256sum)"; }

# $1: the requirements file to install; those behind it are held in it.
setup_python() {
    local stamp="$state/python" venv="$root/.venv" python
    if [[ -x "$venv/bin/python" ]] && grep -qsxF -- "$(python_inputs "$1")" "$stamp"; then
        return
    fi
    if ! python=$(find_python); then
        install_packages python_package
        python=$(find_python) || die "no Python >= 3.11 that can make a venv; please install one (package python3.11-venv)"
    fi
    say "installing Python packages into .venv with $("$python" --version)"
    if ! [[ -x "$venv/bin/python" ]] || ! grep -qsF -- "$root " "$stamp"; then
        # One that setup.sh has made, or the stamp of one that did before it marked them.
        [[ ! -e $venv || -e $venv/.dohyo-setup || -e $stamp ]] || die "$venv was not made by setup.sh; move it away"
        rm -rf -- "$venv"
        logged venv "$python" -m venv "$venv"
        touch -- "$venv/.dohyo-setup"
    fi
    rm -f -- "$stamp"
    logged pip "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$root/analysis/$1"
    logged pip "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e "$root/analysis"
    local file
    for file in "$@"; do
        python_inputs "$file" >>"$stamp"
    done
}

# ---- Chromium -------------------------------------------------------------------------------------------------------

# Without one the tests of the page are skipped with the reason; all others need none.
setup_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do # as analysis/tests/browser.py looks for it
        if command -v "$name" >/dev/null; then return; fi
    done
    # In a shell of its own, which alone ends where there is no such package (Ubuntu's is a snap) or no right to install it.
    (install_packages chromium) || say "no Chromium: the tests of the report's page will be skipped"
}

# ---- Java -----------------------------------------------------------------------------------------------------------

is_jdk17() { [[ -x "$1/bin/javac" ]] && grep -qs '^JAVA_VERSION="17[."]' "$1/release"; }

# Prints the home of a JDK 17: exactly 17, because newer ones lack what Cassandra and HBase still use.
find_jdk() {
    local home
    for home in "${JAVA_HOME:-}" "$state/java" /usr/lib/jvm/*17* /opt/*17* "$HOME"/.sdkman/candidates/java/17*; do
        if is_jdk17 "$home"; then
            readlink -f -- "$home"
            return
        fi
    done
    return 1
}

has_maven() {
    local version
    version=$(mvn --version 2>/dev/null | sed -n 's/.*Apache Maven \([0-9.]*\).*/\1/p') || return 1
    [[ $(printf '3.6\n%s\n' "$version" | sort -V | head -n 1) == 3.6 ]]
}

# What the built client depends on, and what came out: a change of either means building again.
client_fingerprint() (
    cd -- "$root/ycsb-bindings"
    {
        find . -type f -not -path '*/target/*' -not -path '*/src/test/*' -print0 | sort -z | xargs -0 sha256sum
        find . -path '*/target/bundle/*.jar' | sort
    } | sha256sum
)

setup_client() {
    local missing=() stamp="$state/client" home
    home=$(find_jdk) || missing+=(openjdk-17-jdk-headless)
    command -v mvn >/dev/null || missing+=(maven)
    if ((${#missing[@]})); then
        install_packages "${missing[@]}"
        home=$(find_jdk) || die "no JDK 17 found; please install one or set JAVA_HOME to it"
    fi
    # The one place where everything else looks for Java.
    if [[ $(readlink -f -- "$state/java") != "$home" ]]; then
        ln -sfn -- "$home" "$state/java"
    fi
    export JAVA_HOME=$home

    if [[ -s "$stamp" && $(client_fingerprint) == "$(<"$stamp")" ]]; then
        return
    fi
    has_maven || die "Maven >= 3.6 is needed, and $(command -v mvn) is not: $(mvn --version 2>&1 | head -n 1)"
    say "building the client with Maven (the first time fetches the databases' drivers: a few minutes)"
    logged maven mvn -q -B -f "$root/ycsb-bindings/pom.xml" package -DskipTests
    client_fingerprint >"$stamp"
}

# ---- main -----------------------------------------------------------------------------------------------------------

mkdir -p -- "$state"
# Two setups at once (two terminals) would build into the same folders: the second waits.
exec 9>"$state/lock"
if ! flock -n 9; then
    say "waiting for another setup of this checkout"
    flock 9
fi

case "${1:-all}" in
    python) setup_python requirements.txt ;;
    aws) setup_python requirements-aws.txt requirements.txt ;;
    test)
        setup_python requirements-test.txt requirements-aws.txt requirements.txt
        setup_browser
        ;;
    client) setup_client ;;
    all)
        setup_python requirements.txt
        setup_client
        ;;
    *)
        printf 'setup: ERROR: unknown step "%s"; there are: python, aws, test, client, all\n' "$1" >&2
        exit 2
        ;;
esac
