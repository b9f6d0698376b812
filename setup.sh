#!/usr/bin/env bash
# Installs what Dohyo needs on this machine. run.sh and test.sh call it, and users can also call it themselves.
#
#   ./setup.sh python   Python >= 3.11 and the project's venv (.venv) with the command `dohyo`
#   ./setup.sh aws      the same plus AWS's client, for ansible/aws.yml
#   ./setup.sh figures  the same plus vl-convert, for `dohyo report --figures`, which calls this step itself
#   ./setup.sh page     the same plus the script that draws the charts of a report
#   ./setup.sh test     the same plus the linters and test tools, and a Chromium for the tests of the report's page
#   ./setup.sh client   the same as page plus JDK 17, Maven >= 3.6 and the built benchmark client: what a measurement needs
#   ./setup.sh          python and client
#
# apt-get installs missing packages (as root or with passwordless sudo); otherwise the command to type is printed. Each step
# leaves a stamp of its inputs in .setup/, beside its log, and is skipped while the inputs are the same. After an interruption,
# run the step again: pip and Maven keep completed downloads in their caches.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
state="$root/.setup"

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: ERROR: %s\n' "$*" >&2; exit 1; }

# Runs a command with its output in .setup/NAME.log. If it fails, shows the errors (as pip, Maven and apt mark them).
logged() {
    local log="$state/$1.log"
    shift
    "$@" 2>&1 | tee -- "$log" | show_progress && return
    # Before its first line, Maven prints the escape sequence that ends a colour.
    { grep -E -m 15 $'^(\e\\[[0-9;]*m)*(\\[ERROR\\]|ERROR:|E:) ' "$log" || tail -n 15 "$log"; } >&2
    die "this failed: $* (the whole log: $log)"
}

# Shows the latest line of standard input: on a terminal as one line that changes, elsewhere as a line every 15 seconds.
show_progress() {
    local line next=15
    SECONDS=0
    while IFS= read -r line; do
        if [[ -t 2 ]]; then
            printf '\r\e[Ksetup:   %.*s' "$((${COLUMNS:-80} - 10))" "$line" >&2
        elif ((SECONDS >= next)); then
            say "  $line"
            next=$((SECONDS + 15))
        fi
    done
    if [[ -t 2 ]]; then printf '\r\e[K' >&2; fi
}

# Installs Debian packages, or prints the command that does. A name may be a function that prints the package's name. The function
# runs again after apt-get has fetched the package lists, because they may change the name.
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
    # shellcheck disable=SC2086 # splits the names
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

# Prints the first Python >= 3.11 that can create a venv (Debian's needs python3-venv for that).
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

# Prints the package of the oldest suitable Python in this distribution. Ubuntu 22.04, for example, also has 3.11.
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

# Prints the inputs of an installation from the requirements file $1. They include the checkout's path: a venv cannot be moved.
python_inputs() { printf '%s %s\n' "$root" "$(cat "$root/analysis/$1" "$root/analysis/pyproject.toml" | sha256sum)"; }

# Tests whether the stamp $1 was written at this checkout's path.
is_of_here() { [[ -e $1 ]] && sed 's/ [0-9a-f]*  -$//' "$1" | grep -qxF -- "$root"; }

# Tests whether the Python $1 has a pip that can install for another Python. If it has, .venv needs no pip (17 MB).
has_pip() {
    "$1" -c 'import sys, pip; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (22, 3))' 2>/dev/null
}

# Installs packages for .venv, with the pip of the Python $1 if possible. Requirements pin all versions, including dependencies.
# Nothing is compiled in advance, because many modules are never imported.
pip_install() {
    local pip=("$root/.venv/bin/python" -m pip)
    if has_pip "$1"; then pip=("$1" -m pip --python "$root/.venv/bin/python"); fi
    shift
    logged pip "${pip[@]}" install --disable-pip-version-check --progress-bar off --no-deps --no-compile "$@"
}

# Installs the requirements file $1. The further arguments are files that it includes.
setup_python() {
    local stamp="$state/python" venv="$root/.venv" python without=()
    if [[ -x "$venv/bin/python" ]] && grep -qsxF -- "$(python_inputs "$1")" "$stamp"; then
        return
    fi
    if ! python=$(find_python); then
        install_packages python_package
        python=$(find_python) || die "no Python >= 3.11 that can make a venv; please install one (package python3.11-venv)"
    fi
    say "installing Python packages into .venv with $("$python" --version)"
    if ! [[ -x "$venv/bin/python" ]] || ! is_of_here "$stamp"; then
        # Replace only a venv that setup.sh has created: one with its mark, or with the stamp of older versions.
        [[ ! -e $venv || -e $venv/.dohyo-setup || (-e $stamp && -e $venv/bin/dohyo) ]] || die "$venv was not made by setup.sh; move it away"
        rm -rf -- "$venv"
        mkdir -- "$venv"
        touch -- "$venv/.dohyo-setup" # first, because the next steps may be interrupted
        if has_pip "$python"; then without=(--without-pip); fi
        logged venv "$python" -m venv "${without[@]}" "$venv"
    fi
    rm -f -- "$stamp" "$state/vega.js"
    pip_install "$python" -r "$root/analysis/$1"
    install_dohyo "$venv"
    local file
    for file in "$@"; do
        python_inputs "$file" >>"$stamp"
    done
}

# Quotes a word for sh. (bash's %q may write $'…', which sh does not support.)
quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# Adds the path of analysis/ and the command dohyo to venv $1. `pip install -e` would take as long as installing half the packages.
install_dohyo() {
    local site
    site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf '%s\n' "$root/analysis" >"$site/dohyo.pth"
    # Write a shell script, because a script cannot name a Python in its first line if the path contains spaces.
    cat >"$1/bin/dohyo" <<EOF
#!/bin/sh
exec $(quoted "$1/bin/python") -P -c 'import sys; sys.argv[0] = "dohyo"; from dohyo.cli import main; sys.exit(main())' "\$@"
EOF
    chmod 755 -- "$1/bin/dohyo"
}

# Creates the page's script from vl-convert. If vl-convert is not installed, it is fetched only temporarily: it is 90 times as large.
setup_page() {
    setup_python requirements.txt
    if [[ -s "$state/vega.js" ]]; then
        return
    fi
    say "creating the script that draws the charts of a report"
    local folder python="$root/.venv/bin/python"
    folder=$(mktemp -d -- "$state/vl-convert.XXXXXX")
    if ! "$python" -c 'import vl_convert' 2>/dev/null; then
        grep '^vl-convert-python==' "$root/analysis/requirements-figures.txt" >"$state/vl-convert.txt"
        pip_install "$(find_python)" --target "$folder" --upgrade -r "$state/vl-convert.txt"
    fi
    PYTHONUTF8=1 PYTHONPATH="$folder" "$python" -c 'import sys, vl_convert
sys.stdout.write(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))' >"$state/vega.js.part"
    mv -- "$state/vega.js.part" "$state/vega.js"
    rm -f -- "$state/vl-convert.txt"
    rm -rf -- "$folder"
}

# Installs the lowest version of ansible-core that pyproject.toml allows, for the tests that also run with that version.
setup_lowest() {
    local lowest folder="$state/ansible-lowest"
    lowest=$(sed -n 's/.*"ansible-core>=\([0-9.]*\).*/\1/p' "$root/analysis/pyproject.toml")
    if [[ ! -d $folder/ansible_core-$lowest.dist-info ]]; then
        say "installing ansible-core $lowest beside .venv"
        rm -rf -- "$folder"
        pip_install "$(find_python)" --target "$folder" "ansible-core==$lowest"
    fi
}

# ---- Chromium -------------------------------------------------------------------------------------------------------

# Installs Chromium. Without it, only the tests of the report's page are skipped; they state the reason.
setup_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do # the names in analysis/tests/support/browser.py
        if command -v "$name" >/dev/null; then return; fi
    done
    # Use a subshell: install_packages exits if the package is missing (Ubuntu has a snap instead) or cannot be installed.
    (install_packages chromium) || say "no Chromium: the tests of the report's page will be skipped"
}

# ---- Java -----------------------------------------------------------------------------------------------------------

is_jdk17() { [[ -x "$1/bin/javac" ]] && grep -qs '^JAVA_VERSION="17[."]' "$1/release"; }

# Prints the home of a JDK 17. Newer JDKs lack features that Cassandra and HBase still use.
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

# Prints a digest of the client's sources and built jars. If it changes, the client is built again.
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
    # All programs use the JDK at this link.
    if [[ $(readlink -f -- "$state/java") != "$home" ]]; then
        ln -sfn -- "$home" "$state/java"
    fi
    export JAVA_HOME=$home

    if [[ -s "$stamp" && $(client_fingerprint) == "$(<"$stamp")" ]]; then
        return
    fi
    has_maven || die "Maven >= 3.6 is needed, and $(command -v mvn) is not: $(mvn --version 2>&1 | head -n 1)"
    say "building the client with Maven (the first time, this takes a few minutes, because it downloads the databases' drivers)"
    # An interrupted build may have left incomplete files, which Maven would keep.
    if [[ -e $stamp && ! -s $stamp ]]; then rm -rf -- "$root"/ycsb-bindings/*/target; fi
    : >"$stamp"
    logged maven mvn -B --strict-checksums -T 1C -Dstyle.color=never -f "$root/ycsb-bindings/pom.xml" package -DskipTests
    client_fingerprint >"$stamp"
}

# ---- main -----------------------------------------------------------------------------------------------------------

mkdir -p -- "$state" 2>/dev/null || true
if [[ ! -w $state || -e $state/lock && ! -w $state/lock ]]; then
    say "ERROR: $root belongs to $(stat -c %U -- "$root"), and $(id -un) cannot write to it; use a clone of your own"
    exit 2
fi
# A second setup waits, because both would build into the same folders.
exec 9>"$state/lock"
if ! flock -n 9; then
    say "waiting for another setup of this checkout"
    flock 9
fi

case "${1:-all}" in
    python) setup_python requirements.txt ;;
    aws) setup_python requirements-aws.txt requirements.txt ;;
    figures) setup_python requirements-figures.txt requirements.txt ;;
    page) setup_page ;;
    test)
        setup_python requirements-test.txt requirements-aws.txt requirements-figures.txt requirements.txt
        setup_browser
        # The tests of raw devices partition files with sfdisk, as Dohyo partitions the disks of hosts.
        command -v sfdisk >/dev/null || (install_packages fdisk) || say "no sfdisk: the tests of raw devices will be skipped"
        setup_lowest
        ;;
    client | all)
        setup_page
        setup_client
        ;;
    *)
        printf 'setup: ERROR: unknown step "%s"; there are: python, aws, figures, page, test, client, all\n' "$1" >&2
        exit 2
        ;;
esac
