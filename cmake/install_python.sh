#!/usr/bin/env bash
# Builds the Python package and installs it, with what its tests need, into .venv-python (another folder:
# PACKSIM_PYTHON_VENV). Does nothing where the package's sources are those of the last time. Where the packages that it
# needs are not to be had, says so and ends well: its tests are then skipped.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/uv.sh"
venv=${PACKSIM_PYTHON_VENV:-$root/.venv-python}
cd "$root"

hash_of() { find "$@" -type f ! -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1; }

requirements=$(hash_of tests/python/requirements.txt pyproject.toml cmake/install_python.sh)
sources=$(hash_of pyproject.toml CMakeLists.txt README.md LICENSE cmake files packing plan_files models sim planning scenarios \
          experiment reports sweep recommend cli python calibration/CMakeLists.txt calibration/fit calibration/steps calibration/plans \
          calibration/profiles validation)

if [ "$(cat "$venv/.packsim-wheel" 2>/dev/null)" = "$requirements $sources" ]; then exit 0; fi

give_up() {
  echo "Python packages not available: tests of the Python package are skipped"
  exit 0
}

if [ "$(cat "$venv/.packsim-requirements" 2>/dev/null)" != "$requirements" ]; then
  new_environment "$venv" || give_up
  # The JavaScript of the charts is there already, in .venv.
  build_requirements=$(python3 - <<'PYTHON'
import pathlib, tomllib
requires = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["build-system"]["requires"]
print("\n".join(requires))
PYTHON
  )
  mapfile -t packages <<< "$build_requirements"
  install_into "$venv" "${packages[@]}" -r tests/python/requirements.txt || give_up
  echo "$root"/.venv/lib/python3.*/site-packages > "$(echo "$venv"/lib/python3.*/site-packages)/packsim-charts.pth"
  echo "$requirements" > "$venv/.packsim-requirements"
fi

# The packages that building needs are in the environment, so that CMake finds them where it found them before
# and compiles what has changed only.
rm -f "$venv/.packsim-wheel"
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
export CXX=${CXX:-c++}  # as CMake calls it elsewhere: a compiler cache takes g++ for another one
export PACKSIM_PROGRAM=1  # tests compare the package with the program
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
uv build --wheel --no-build-isolation --python "$venv/bin/python" --out-dir "$wheels" . >build.log 2>&1 ||
  { cat build.log; exit 1; }
install_into "$venv" --no-deps --reinstall "$wheels"/packsim-*.whl
echo "$requirements $sources" > "$venv/.packsim-wheel"
echo "$(basename "$wheels"/packsim-*.whl) is in $venv"
