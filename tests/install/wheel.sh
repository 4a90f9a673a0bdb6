#!/usr/bin/env bash
# wheel.sh: `pip install .` as a user runs it, in an environment of its own, and the tests of the installed package there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
pip=("$work/venv/bin/pip" --quiet --disable-pip-version-check)
CXX=${CXX:-c++} CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} "${pip[@]}" install "$root"
cd "$work"
"$work/venv/bin/packsim" compare llama3.1-8b-long-requests-128k --strategy hbp --quiet --out "$work/report"
"${pip[@]}" install -r "$root/tests/python/requirements.txt"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$root/tests/python/test_package.py" \
  "$root/tests/python/test_conformance.py"
