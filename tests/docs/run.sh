#!/usr/bin/env bash
# Tests the site of the docs. Exit code 77, a skip to ctest, where cmake/install_docs.sh could not install what builds it.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -e .venv-docs/.packsim-docs ] || { echo ".venv-docs is not there: skipped"; exit 77; }
exec .venv-docs/bin/python -W ignore -m unittest discover -s tests/docs -p '*_test.py'
