#!/usr/bin/env bash
# Puts the versions of transformers of the isolation table (docs/isolation.md) into .venv-transformers, a folder each, which
# PYTHONPATH puts before that of .venv-python. What is not to be had, it says, and ends well: its cells are then skipped.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/uv.sh"
venv=${PACKSIM_PYTHON_VENV:-$root/.venv-python}
folder=${PACKSIM_TRANSFORMERS:-$root/.venv-transformers}

[ -f "$venv/.packsim-packages" ] || exit 0

# Each with what it takes that the environment has too new a version of.
install() {
  local version=$1
  shift
  [ -f "$folder/$version/.packsim" ] && return 0
  rm -rf "${folder:?}/$version"
  install_into "$venv" --no-deps --target "$folder/$version" "transformers==$version" "$@" ||
    { echo "transformers $version not available: its isolation is not tested"; return 0; }
  touch "$folder/$version/.packsim"
}

install 4.45.2 tokenizers==0.20.3 huggingface_hub==0.36.0
install 4.51.3 tokenizers==0.21.4 huggingface_hub==0.36.0
install 4.53.3 tokenizers==0.21.4 huggingface_hub==0.36.0
install 5.0.0 tokenizers==0.22.1 huggingface_hub==1.3.1 httpx==0.28.1 httpcore==1.0.9 h11==0.16.0 anyio==4.11.0 sniffio==1.3.1
