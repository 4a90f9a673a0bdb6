#!/usr/bin/env bash
# Installs what the build needs and is not there yet: Debian packages, and one Python wheel in .venv that carries
# the chart-drawing JavaScript. Run again, it looks and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build python3 python3-venv libeigen3-dev libboost-graph-dev nlohmann-json3-dev
          libcli11-dev libfmt-dev libxxhash-dev catch2 libbenchmark-dev pkg-config coinor-libcbc-dev)
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
