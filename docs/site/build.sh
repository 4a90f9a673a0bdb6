#!/usr/bin/env bash
# build.sh FOLDER: builds the site of the docs into FOLDER; a broken link or a page without a place in the navigation fails.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
into=$(realpath --canonicalize-missing "$1")
export NO_MKDOCS_2_WARNING=1  # which is advertising
# What MkDocs says is printed where it fails: with --quiet, it does not count warnings, and --strict lets all pass.
log=$("${PACKSIM_DOCS_VENV:-$root/.venv-docs}/bin/mkdocs" build --strict \
      --config-file "$root/docs/site/mkdocs.yml" --site-dir "$into" 2>&1) || { echo "$log" >&2; exit 1; }
