#!/usr/bin/env bash
# program.sh BUILD: installs the program with its data, moves both, and runs it on nothing else.
set -euo pipefail
build=$1
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
prefix=$(install_and_move "$build" program "$build/install_program")
packsim=$prefix/bin/packsim
unset PACKSIM_DATA
cd "$prefix"

for what in strategies models clusters scenarios profiles hardware-profiles; do
  lines=$("$packsim" list $what | wc -l)
  ((lines >= 2)) || { echo "list $what: expected at least 2 lines, got $lines" >&2; exit 1; }
done
"$packsim" check llama3.1-8b-hybrid-128k >/dev/null
"$packsim" compare llama3.1-8b-long-requests-128k --strategy hbp --quiet --out "$prefix/report"
"$packsim" pack share/packsim/scenarios/lengths/gsm8k.csv --strategy bfd --capacity 4096 --quiet
"$packsim" validate --set hbp-memory >/dev/null
expect "the manual page" "$("$packsim" man)" "$(cat share/man/man1/packsim.1)"
"$packsim" calibrate coverage llama3.1-8b-hybrid-128k h100-sxm-public >/dev/null
"$packsim" calibrate run --with torch --quick --dry-run --out "$prefix/measured.jsonl" |
  grep -q "$prefix/share/packsim/calibration/steps/measure_steps.py"

# Sources stay at home.
expect "C++ sources among the data" "" "$(find "$prefix" -name '*.[ch]pp')"
