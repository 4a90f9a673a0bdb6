#!/usr/bin/env bash
# run.sh BUILD SECONDS: runs every fuzz target of a build folder for so many seconds, each from its corpus. Findings, and
# what adds to a corpus, are left in BUILD/fuzz/<target>. An input that takes 512 MB is a finding, and one that takes 10
# seconds by the clock: a busy machine may stand still for one.
set -euo pipefail
build=$(realpath "$1")
seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
for program in "$build"/tests/fuzz/fuzz_*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  name=$(basename "$program")
  found="$build/fuzz/$name"
  mkdir -p "$found/corpus"
  echo "== $name"
  (cd "$found" && "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=512 -max_len=16384 -print_final_stats=1 \
    corpus "$here/corpus/${name#fuzz_}")
done
