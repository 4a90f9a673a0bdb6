#!/usr/bin/env bash
# Puts the trainers of tests/python/requirements-trainers.txt into .venv-trainers, a folder that PYTHONPATH puts before that of
# .venv-python. What is not to be had, it says, and ends well: their settings are then not tried.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/uv.sh"
venv=${PACKSIM_PYTHON_VENV:-$root/.venv-python}
folder=${PACKSIM_TRAINERS:-$root/.venv-trainers}
requirements=$root/tests/python/requirements-trainers.txt

[ -f "$venv/.packsim-packages" ] || exit 0
wanted=$(sha256sum < "$requirements")
if [ "$(cat "$folder/.packsim" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
rm -rf "${folder:?}"
install_into "$venv" --no-deps --target "$folder" -r "$requirements" ||
  { echo "Trainers not available: whether they accept settings is not tested"; rm -rf "${folder:?}"; exit 0; }
echo "$wanted" > "$folder/.packsim"
echo "Trainers whose settings are tried are in $folder"
