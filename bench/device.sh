#!/bin/bash
# Accelerators side by side with CuPy, BabelStream and nvbandwidth, in turn, on a machine with a GPU of NVIDIA.
#
#   bench/device.sh fetch FOLDER   on a machine with internet: the wheels into FOLDER (FOLDER/cupy is large; it may be left out)
#   bench/device.sh FOLDER OUT     on the machine with the GPU, without internet: results into OUT, in about six minutes
#
# Without CuPy, nvcc or nvbandwidth the peers that need them are left out, and the table says so.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = fetch ]; then
  folder=${2:?folder for the wheels}
  python3 -m pip download -q -d "$folder" "$here" hatchling editables nvidia-cuda-nvrtc-cu12
  python3 -m pip download -q -d "$folder/cupy" cupy-cuda12x nvidia-cublas-cu12 || echo "CuPy could not be fetched" >&2
  exit 0
fi

folder=${1:?folder with the wheels} out=${2:?folder for the results}
mkdir -p "$out"
python3 -m venv "$out/venv"
links=(--find-links "$folder")
[ -d "$folder/cupy" ] && links+=(--find-links "$folder/cupy")
pip() { "$out/venv/bin/python" -m pip --disable-pip-version-check install -q --no-index "${links[@]}" "$@"; }
pip hatchling editables nvidia-cuda-nvrtc-cu12
pip --no-build-isolation "$here"
pip nvidia-cublas-cu12 || true
pip cupy-cuda12x || true

steelyard=$out/venv/bin/steelyard
"$steelyard" machine >"$out/machine.txt"
"$steelyard" doctor >"$out/doctor.txt" || true
for turn in 1 2; do
  "$out/venv/bin/python" "$here/bench/device_peers.py" >"$out/peers$turn.json"
  "$steelyard" run --only device --runs "$out/runs" --quiet </dev/null || echo "steelyard run ended with code $?" >&2
done
"$steelyard" run --only node --set mode=cuda --runs "$out/node" --quiet </dev/null || echo "steelyard run ended with code $?" >&2
"$out/venv/bin/python" "$here/bench/device_peers.py" --table "$out" | tee "$out/table.txt"
