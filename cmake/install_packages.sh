#!/usr/bin/env bash
# Adds to .venv-python what the tests of `make check-all` need more: data formats and mypy; and where
# cmake/install_torch.sh has put PyTorch, that and trainers. What is not to be had, it says, and ends well: the tests
# that need it are then skipped.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/uv.sh"
venv=${PACKSIM_PYTHON_VENV:-$root/.venv-python}
torch=${PACKSIM_TORCH_VENV:-$root/.venv-torch}

[ -f "$venv/.packsim-wheel" ] || exit 0
requirements=("$root/tests/python/requirements-packages.txt")
if [ -f "$torch/.packsim-wheel" ]; then
  requirements+=("$root/tests/python/requirements-torch.txt")
  echo "$torch"/lib/python3.*/site-packages > "$(echo "$venv"/lib/python3.*/site-packages)/packsim-torch.pth"
fi
wanted=$(cat "${requirements[@]}" "$torch/.packsim-wheel" 2>/dev/null | sha256sum || true)
if [ "$(cat "$venv/.packsim-packages" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

# Trainers would otherwise bring a PyTorch of their own, with several GB of CUDA packages.
if ! install_into "$venv" --excludes <(echo torch) "${requirements[@]/#/-r}"; then
  echo "Data formats and trainers not available: tests of the Python package beside them are skipped"
  exit 0
fi
echo "$wanted" > "$venv/.packsim-packages"
echo "Data formats and trainers are in $venv"
