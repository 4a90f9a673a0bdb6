#!/usr/bin/env bash
# run.sh package|packages|steps|page FILE...: runs files of tests with the Python that has what they need. Exit code 77, a skip
# to ctest, where that is not installed (cmake/install_python.sh, install_packages.sh, install_torch.sh, install_browser.sh).
set -euo pipefail
needs=$1
files=("${@:2}")
root=$(cd "$(dirname "$0")/../.." && pwd)
need() {
  [ -e "$root/$1" ] || { echo "$root/$1 is not there: skipped"; exit 77; }
}
cd "$root"
unset PYTHONDONTWRITEBYTECODE  # uv leaves it to the first import to compile a module, which is to be the only time
export OMP_NUM_THREADS=1  # as many tests as cores run beside each other
case $needs in
  page)
    need .venv-page/.packsim-page
    exec .venv-page/bin/python -m pytest -q --tb=short -p no:cacheprovider "${files[@]}" ;;
  steps)
    need .venv-torch/.packsim-wheel
    exec .venv-torch/bin/python -W ignore -m unittest discover -s "$(dirname "${files[0]}")" -p "$(basename "${files[0]}")" ;;
  packages)
    need .venv-python/.packsim-packages
    # Where all of it is there, a module that cannot be imported is a failure.
    if [ -e .venv-torch/.packsim-wheel ]; then export PACKSIM_TEST_NEEDS_ALL=1; fi ;;
esac
need .venv-python/.packsim-wheel
options=(-q -p no:cacheprovider)
# Hypothesis's plugin imports the whole of it when the tests are over, which once failed after Ray's.
grep --quiet hypothesis "${files[@]}" || options+=(-p no:hypothesispytest)
exec .venv-python/bin/python -m pytest "${options[@]}" "${files[@]}"
