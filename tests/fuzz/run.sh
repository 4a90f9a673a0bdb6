#!/usr/bin/env bash
# run.sh BUILD SECONDS [NAME...]: runs the fuzz targets of a build folder, or those named, for so many seconds each. FUZZ_RUNS
# ends a target after so many executions. A target starts from its corpus, with the words of it as a dictionary. Findings, what
# adds to a corpus and a log are left in BUILD/fuzz/fuzz_<name>. An input that takes 512 MB is a finding, and one that takes
# 10 seconds of CPU time (cpu_budget.cpp) or does not end in 300 by the clock.
set -euo pipefail
build=$(realpath "$1")
seconds=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
(($# > 0)) || mapfile -t < <(ls "$here/corpus")
(($# > 0)) || set -- "${MAPFILE[@]}"
# Freed memory that the address sanitizer keeps counts, and so do the call stacks of allocations.
export ASAN_OPTIONS=quarantine_size_mb=64:malloc_context_size=5

# Inputs as long as the longest of the corpus, or 2048 bytes: longer ones take longer and find the same.
longest_input() {
  find "$1" -type f -printf '%s\n' | sort -n | tail -1 | awk '{ print ($1 > 2048 ? $1 : 2048) }'
}

failed=()
for name in "$@"; do
  corpus="$here/corpus/$name"
  found="$build/fuzz/fuzz_$name"
  mkdir -p "$found/corpus"
  options=(-max_total_time="$seconds" -runs="${FUZZ_RUNS:--1}" -timeout=300 -rss_limit_mb=512
           -max_len="$(longest_input "$corpus")" -print_final_stats=1)
  python3 "$here/dictionary.py" "$corpus" > "$found/dictionary"
  [ ! -s "$found/dictionary" ] || options+=(-dict=dictionary)
  echo "== $name"
  (cd "$found" && "$build/tests/fuzz/fuzz_$name" "${options[@]}" corpus "$corpus" >log 2>&1) || { failed+=("$name"); tail -40 "$found/log"; }
  sed -n 's/^stat::number_of_executed_units: *\([0-9]*\)/\1 executions/p' "$found/log"
done
((${#failed[@]} == 0)) || { echo "run.sh: findings of ${failed[*]} in $build/fuzz" >&2; exit 1; }
