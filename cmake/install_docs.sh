#!/usr/bin/env bash
# Installs what builds the site of the docs, pinned in docs/site/requirements.txt, into .venv-docs (another folder:
# PACKSIM_DOCS_VENV). Run again, it looks and does nothing.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/uv.sh"
venv=${PACKSIM_DOCS_VENV:-$root/.venv-docs}
requirements=$root/docs/site/requirements.txt

if cmp --silent "$requirements" "$venv/.packsim-docs"; then exit 0; fi
if ! { new_environment "$venv" && install_into "$venv" --no-deps --requirement "$requirements"; }; then
  echo "install_docs.sh: MkDocs could not be had: the site of the docs is not built" >&2
  exit 1
fi
cp "$requirements" "$venv/.packsim-docs"
