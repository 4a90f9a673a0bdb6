#!/bin/sh
# The program starts, and without a GPU ends with exit code 3 and a clear line. Usage: starts.sh PROGRAM
set -u
plan=$(mktemp)
trap 'rm -f "$plan" "$plan.out"' EXIT
echo launch_gap > "$plan"

"$1" --version || exit 1
"$1" --list || exit 1
"$1" --plan "$plan" --dry-run || exit 1
if ls /dev/nvidia[0-9]* > /dev/null 2>&1; then exit 0; fi

said=$("$1" --plan "$plan" --out "$plan.out" 2>&1)
code=$?
echo "$said"
[ "$code" = 3 ] || { echo "expected exit code 3, got $code"; exit 1; }
case $said in
  "packsim_microbench: no CUDA "*) ;;
  *) echo "expected \"packsim_microbench: no CUDA ...\""; exit 1 ;;
esac
[ ! -e "$plan.out" ] || { echo "expected no measurement file"; exit 1; }
