#!/bin/bash
# Accelerators side by side with CuPy, a plain program of CUDA, BabelStream and nvbandwidth, in turn, on a machine with a GPU
# of NVIDIA. Each figure is printed beside the best peer, with what must hold, and "pass" or "FAIL".
#
#   bench/device.sh fetch FOLDER [PYTHON [LEFT-OUT …]]
#       on a machine with internet: the wheels for that version of Python (default 3.12) into FOLDER, without packages that the other
#       machine has (numpy scipy): what must fit into 64 MiB. BabelStream's source comes along where git reaches it.
#   bench/device.sh FOLDER OUT
#       on the machine with the GPU, without internet: results into OUT, in at most six minutes (DEVICE_SECONDS=350).
#       An empty FOLDER will do where Python has all packages.
#   bench/device.sh whole FOLDER OUT
#       the whole quick run with the device: it must end within six minutes.
#
# Whatever is missing (CuPy, nvcc, a compiler, nvbandwidth) leaves out what needs it; each step has a time limit and a log in OUT.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = fetch ]; then
  folder=${2:?folder for the wheels} version=${3:-3.12}
  mkdir -p "$folder"
  platforms=()
  for old in 2014 _2_17 _2_24 _2_27 _2_28 _2_34; do platforms+=(--platform "manylinux${old}_x86_64"); done
  python3 - "$here/pyproject.toml" >"$folder/wanted.txt" <<'PYTHON' || exit 1
import sys, tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["dependencies"], sep="\n")
PYTHON
  python3 -m pip download -q --only-binary=:all: --python-version "$version" --implementation cp "${platforms[@]}" \
    -d "$folder" -r "$folder/wanted.txt" -c "$here/constraints.txt" || exit 1
  for name in "${@:4}"; do rm -f "$folder/$name"-*.whl; done
  git clone -q --depth 1 https://github.com/UoB-HPC/BabelStream "$folder/BabelStream" ||
    echo "BabelStream could not be fetched; it is left out" >&2
  du -sh "$folder"
  exit 0
fi

whole=
if [ "${1:-}" = whole ]; then whole=1 && shift; fi
folder=${1:?folder with the wheels, which may be empty} out=${2:?folder for the results}
limit=${DEVICE_SECONDS:-350}
mkdir -p "$out" || exit 1
folder=$(cd "$folder" && pwd) || exit 1
out=$(cd "$out" && pwd)
work=$(mktemp -d)
mkdir -p "$work/site" "$work/bin" "$work/cache"

# Runs a step for at most so many seconds and what is left; its output goes to OUT/NAME.log, and its end to the screen.
step() {
  local name=$1 most=$2 began=$SECONDS left code
  shift 2
  left=$((limit - SECONDS))
  if [ "$left" -lt 5 ]; then
    echo "[$SECONDS s] $name: left out, the time is over"
    return 1
  fi
  timeout -k 5 "$((most < left ? most : left))" "$@" >"$out/$name.log" 2>&1 </dev/null
  code=$?
  echo "[$SECONDS s] $name: code $code after $((SECONDS - began)) s"
  [ "$code" -eq 0 ] || tail -n 3 "$out/$name.log" | sed 's/^/    /'
  return "$code"
}

unpack() { # wheels are archives: without pip their files are enough
  shopt -s nullglob
  local wheels=("$folder"/*.whl)
  [ ${#wheels[@]} -gt 0 ] || return 0
  python3 -m pip install -q --no-index --no-deps --no-compile --target "$work/site" "${wheels[@]}" && return 0
  for wheel in "${wheels[@]}"; do python3 -m zipfile -e "$wheel" "$work/site" || return 1; done
  cp "$work"/site/*.data/scripts/* "$work/bin" 2>/dev/null && chmod +x "$work"/bin/*
  return 0
}
compile_peers() {
  local nvcc
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc) || return 1
  "$nvcc" -O3 -arch=native -o "$work/bin/device_peer" "$here/bench/device_peer.cu" || return 1
  [ -d "$folder/BabelStream/src/cuda" ] || return 0
  "$nvcc" -O3 -std=c++17 -arch=native -DCUDA -I"$folder/BabelStream/src" -I"$folder/BabelStream/src/cuda" \
    -o "$work/bin/cuda-stream" "$folder"/BabelStream/src/main.cpp "$folder"/BabelStream/src/cuda/*.cu
}
steelyard() { python3 -m steelyard "$@"; }
peers() { python3 "$here/bench/device_peers.py" >"$out/peers$1.json"; }
table() { python3 "$here/bench/device_peers.py" --table "$out"; }
export -f unpack compile_peers steelyard peers table
export folder out work here
export PYTHONPATH="$here/src:$work/site${PYTHONPATH:+:$PYTHONPATH}" PATH="$work/bin:$work/site/bin:$PATH" XDG_CACHE_HOME="$work/cache"
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

nvidia-smi >"$out/nvidia-smi.txt" 2>&1 || echo "nvidia-smi failed: see $out/nvidia-smi.txt"
step unpack 60 bash -c unpack
if ! step version 30 bash -c 'steelyard --version'; then
  echo "Steelyard does not start: $out/version.log says why. Fetch the wheels for $(python3 --version 2>&1)." >&2
  exit 4
fi
if [ -n "$whole" ]; then
  limit=400
  began=$SECONDS
  step whole 395 bash -c 'steelyard run --runs "$work/whole"'
  took=$((SECONDS - began))
  steelyard show "$work"/whole/* >"$out/screen.txt" 2>&1 </dev/null
  tar -C "$work" -cJf "$out/whole.tar.xz" whole
  echo "whole quick run with the device: $took s, must be <= 360 s: $([ "$took" -le 360 ] && echo pass || echo FAIL)"
  exit 0
fi
step machine 40 bash -c 'steelyard machine >"$out/machine.txt"'
step doctor 40 bash -c 'steelyard doctor >"$out/doctor.txt"'
step build 100 bash -c 'steelyard build --only device & compile_peers; code=$?; wait; exit $code'
for turn in 1 2; do
  step "peers$turn" 40 bash -c "peers $turn"
  step "device$turn" 95 bash -c "steelyard run --only device --budget 80s --runs '$out/runs' --quiet"
done
step node 45 bash -c 'steelyard run --only node --set mode=cuda --budget 30s --runs "$out/node" --quiet'
step screen 30 bash -c 'for run in "$out"/runs/* "$out"/node/*; do steelyard show --all "$run"; done >"$out/screen.txt"'
table 2>"$out/table.log" | tee "$out/table.txt"
# Few files: runs, logs and figures of peers are in one archive.
cd "$out" || exit 1
shopt -s nullglob
packed=(runs node *.log peers*.json nvidia-smi.txt)
tar -cJf "$work/results.tar.xz" --ignore-failed-read "${packed[@]}" 2>/dev/null
[ -s "$work/results.tar.xz" ] && rm -rf "${packed[@]}" && mv "$work/results.tar.xz" .
cd / && rm -rf "$work"
echo "[$SECONDS s] all results are in $out"
