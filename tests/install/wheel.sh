#!/usr/bin/env bash
# wheel.sh: `pip install .` as a user runs it, in an environment of its own: the core alone, and then with the program. The
# tests of the installed package run there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
pip=("$work/venv/bin/pip" --quiet --disable-pip-version-check)
export CXX=${CXX:-c++} CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
"${pip[@]}" install "$root"
cd "$work"
"$work/venv/bin/python" -c 'import packsim; assert len(packsim.pack([5, 3], strategy="bfd", capacity_tokens=8).groups[0]) == 1'
"$work/venv/bin/python" - <<'PYTHON'
import packsim

try:
    packsim.load_scenario("llama3.1-8b-tulu3-4k")
except ImportError as error:
    assert "PACKSIM_PROGRAM=1 pip install ." in str(error), error
else:
    raise SystemExit("wheel.sh: expected no simulator without PACKSIM_PROGRAM")
PYTHON
[ ! -e "$work/venv/bin/packsim" ] || { echo "wheel.sh: expected no program without PACKSIM_PROGRAM" >&2; exit 1; }
PACKSIM_PROGRAM=1 "${pip[@]}" install --force-reinstall --no-deps "$root"
"$work/venv/bin/packsim" compare llama3.1-8b-long-requests-128k --strategy hbp --quiet --out "$work/report"
"$work/venv/bin/python" -c 'import packsim; assert packsim.simulate("llama3.1-8b-long-requests-128k", "hbp").gpu_days > 0'
"${pip[@]}" install -r "$root/tests/python/requirements.txt"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$root/tests/python/test_package.py" \
  "$root/tests/python/test_conformance.py"
