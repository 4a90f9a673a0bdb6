#!/usr/bin/env bash
# Installs PyTorch for the CPU into .venv-torch (another folder: PACKSIM_TORCH_VENV), for the tests of
# calibration/steps. Where it is not to be had, says so and ends well: those tests are then skipped.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/uv.sh"
venv=${PACKSIM_TORCH_VENV:-$root/.venv-torch}

# "+cpu" is part of the version: PyPI's own wheel, which pulls several GB of CUDA packages, does not match.
wheel=torch==2.13.0+cpu
index=https://download.pytorch.org/whl/cpu

if [ "$(cat "$venv/.packsim-wheel" 2>/dev/null)" = "$wheel" ]; then exit 0; fi

give_up() {
  echo "PyTorch not available: step-harness tests are skipped"
  exit 0
}

new_environment "$venv" || give_up
# First from where pip is set to look, such as a folder of wheels; then from PyTorch's own index, with the packages that it needs.
install_into "$venv" "$wheel" 2>/dev/null || install_into "$venv" --index "$index" "$wheel" || give_up
"$venv/bin/python" -W ignore -c 'import torch' >/dev/null 2>&1 || give_up
echo "$wheel" > "$venv/.packsim-wheel"
echo "$wheel is in $venv"
