#!/usr/bin/env bash
# Installs what the tests of the report page need: Debian's Chromium, and in .venv-page (another folder: PACKSIM_PAGE_VENV) what
# drives it, and axe-core. Does nothing where they are there. What is not to be had, it says, and ends well: the tests are then skipped.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/uv.sh"
venv=${PACKSIM_PAGE_VENV:-$root/.venv-page}
requirements=$root/tests/page/requirements.txt

give_up() {
  echo "$1 not available: tests of the report page are skipped"
  exit 0
}

"$root/cmake/install_deps.sh" browser || give_up "Chromium"
wanted=$(sha256sum < "$requirements")
if [ "$(cat "$venv/.packsim-page" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

{ new_environment "$venv" && install_into "$venv" -r "$requirements"; } || give_up "Playwright"
echo "$wanted" > "$venv/.packsim-page"
echo "Playwright and axe-core are in $venv"
