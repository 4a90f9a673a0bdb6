#!/usr/bin/env bash
# Installs what is missing of the Debian packages for `program` (the default), `tests`, `benchmarks`, `fuzz` or `browser`, and one Python
# wheel in .venv that carries the chart-drawing JavaScript. Run again, it looks and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build python3 python3-venv libeigen3-dev nlohmann-json3-dev libcli11-dev libfmt-dev
          libxxhash-dev libboost-dev pkg-config zlib1g-dev coinor-libcbc-dev libsqlite3-dev
          ccache)  # compiles nothing twice; everything works without it
case ${1:-program} in
  program) ;;
  tests) packages+=(catch2 python3-dev zsh fish) ;;  # the shells are 8 MB, to test completion
  benchmarks) packages+=(libbenchmark-dev) ;;
  fuzz) packages+=(catch2 python3-dev clang-16 libclang-rt-16-dev) ;;
  browser) packages+=(chromium fonts-liberation) ;;
  *) echo "install_deps.sh: expected program, tests, benchmarks, fuzz or browser, got \"$1\"" >&2; exit 2 ;;
esac
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "Run as root: apt-get install -y ${missing[*]}" >&2; exit 3; }
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
fi

wheel=vl-convert-python==1.9.0.post1
if [ "$(cat .venv/.packsim-wheel 2>/dev/null)" != "$wheel" ]; then
  echo "Installing $wheel into .venv"
  python3 -m venv .venv
  .venv/bin/pip install --quiet --disable-pip-version-check "$wheel"
  echo "$wheel" > .venv/.packsim-wheel
fi
