#!/usr/bin/env bash
# Installs what builds the site of the docs, pinned in docs/site/requirements.txt, into .venv-docs (another folder:
# PACKSIM_DOCS_VENV). Run again, it looks and does nothing.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${PACKSIM_DOCS_VENV:-$root/.venv-docs}
requirements=$root/docs/site/requirements.txt

if cmp --silent "$requirements" "$venv/.packsim-docs"; then exit 0; fi
rm -rf "$venv"
python3 -m venv "$venv"
if ! timeout 300 "$venv/bin/pip" --quiet --disable-pip-version-check install --retries 0 --timeout 10 --no-deps \
     --requirement "$requirements" >/dev/null 2>&1; then
  echo "install_docs.sh: MkDocs could not be had: the site of the docs is not built" >&2
  exit 1
fi
cp "$requirements" "$venv/.packsim-docs"
