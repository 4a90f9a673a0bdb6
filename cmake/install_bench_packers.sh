#!/usr/bin/env bash
# Installs the packers that tests/bench/python_packing.py times packsim beside, into .venv-bench (another
# folder: PACKSIM_BENCH_VENV). Only for that benchmark: no test needs them.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${PACKSIM_BENCH_VENV:-$root/.venv-bench}

# "+cpu" is part of the version: PyPI's own wheel, which pulls several GB of CUDA packages, does not match.
torch=torch==2.13.0+cpu
index=https://download.pytorch.org/whl/cpu
packers=(trl numba)
alone=(axolotl)  # of which one module is loaded; what the rest of it needs is left out

if [ -e "$venv/.packsim-packers" ]; then exit 0; fi
python3 -m venv "$venv"
pip=("$venv/bin/pip" install --quiet --disable-pip-version-check)
# PyTorch comes before what needs it, which would fetch another one.
"${pip[@]}" "$torch" 2>/dev/null || "${pip[@]}" --index-url "$index" "$torch"
"${pip[@]}" "${packers[@]}"
"${pip[@]}" --no-deps "${alone[@]}" ||
  echo "install_bench_packers.sh: axolotl could not be had; the benchmark goes without" >&2
"$venv/bin/pip" list --disable-pip-version-check --format=freeze | grep -iE '^(torch|trl|datasets|axolotl|numba|numpy|pyarrow)==' \
  | tee "$venv/.packsim-packers"
