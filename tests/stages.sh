#!/usr/bin/env bash
# stages.sh check|check-all [--after-check]: runs the stages of `make check` or `make check-all` one after another, says
# how long each took beside what docs/performance.md recorded, and ends at the first that fails.
#
# PACKSIM_CHECK_DEADLINE: seconds since 1970 at which to stop with a clear line, for a machine that would cut the run off.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}

not_in_check='slow|threads|packages|install|page'

# cmake says nothing unless it fails.
configure() { cmake "$@" >build.log 2>&1 || { cat build.log; return 1; }; }
build() { cmake --build "$@" -j "$jobs"; }
run_tests() { ctest --test-dir "$1" --output-on-failure -j "$jobs" "${@:2}"; }

stage_deps() { cmake/install_deps.sh tests; }
stage_build() { configure --preset check && build build; }
stage_python() { cmake/install_python.sh; }
stage_tests() { run_tests build --label-exclude "$not_in_check"; }

# Whole scenarios, published tables, every command of the README, and the tool that fits the shipped profile.
stage_slow() { build build --target packsim_fit_steps && run_tests build --label-regex '^slow$'; }
# What is installed works away from the project, in C, C++ and a clean Python.
stage_install() { run_tests build --label-regex '^install$'; }
stage_wheel() { tests/install/wheel.sh; }
# PyTorch, trainers, data formats, types and stubs, and the site of the docs.
stage_packages() {
  cmake/install_docs.sh || true  # it has said so, and the site's test is skipped
  cmake/install_torch.sh && cmake/install_packages.sh && cmake/install_transformers.sh && cmake/install_trainers.sh &&
    run_tests build --label-regex '^packages$'
}
# report.html in a browser.
stage_page() { cmake/install_browser.sh && run_tests build --label-regex '^page$'; }
# The core that data loaders link, what reads and writes files, and the program, whose tests run what else there is.
stage_asan() {
  local tests=(packing c_api files plan_files cli)
  configure --preset asan && build build-asan --target packsim fuzz_targets "${tests[@]/#/test_}" &&
    run_tests build-asan --label-exclude "$not_in_check" --tests-regex "^($(IFS='|'; echo "${tests[*]}")|fuzz)/"
}
stage_tsan() {
  configure --preset tsan && build build-tsan --target packsim test_cli test_c_api test_files &&
    run_tests build-tsan --label-regex '^threads$'
}
stage_cuda() {
  cmake/install_cuda.sh
  if [ -z "$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc || true)" ]; then return 0; fi
  configure -S calibration/microbench -B build-cuda -DPACKSIM_WERROR=ON && build build-cuda && run_tests build-cuda
}
case ${1:-} in
  check) stages=(deps build python tests install) ;;
  check-all)
    stages=(slow wheel packages page asan tsan cuda)
    if [ "${2:-}" != --after-check ]; then stages=(deps build python tests install "${stages[@]}"); fi ;;
  stage) "stage_$2"; exit ;;
  *) echo "stages.sh: expected check or check-all, got \"${1:-}\"" >&2; exit 2 ;;
esac

recorded_s() { sed -n "s/^| \`$1\` .*| *\([0-9]*\) |.*/\1/p" docs/performance.md | head -1; }

say() { printf '%s\n' "$@"; }

report=()
warnings=()
finish() {
  local outcome=$1 total_s=$SECONDS row
  say "" "stage        seconds   recorded"
  for row in "${report[@]}"; do say "$row"; done
  printf '%-12s %7d\n' total "$total_s"
  for row in "${warnings[@]}"; do say "WARNING: $row"; done
  say "$outcome"
}

for stage in "${stages[@]}"; do
  recorded=$(recorded_s "$stage")
  limit=()
  if [ -n "${PACKSIM_CHECK_DEADLINE:-}" ]; then
    left_s=$((PACKSIM_CHECK_DEADLINE - $(date +%s)))
    if ((left_s < ${recorded:-0} || left_s < 1)); then
      finish "STOPPED before stage $stage: it takes about ${recorded:-?} s, and $left_s s are left"
      exit 1
    fi
    limit=(timeout --kill-after=10 "$left_s")
  fi
  say "" "== $stage"
  began=$SECONDS
  code=0
  "${limit[@]}" "$0" stage "$stage" || code=$?
  took_s=$((SECONDS - began))
  report+=("$(printf '%-12s %7d %10s' "$stage" "$took_s" "${recorded:--}")")
  if [ -n "$recorded" ] && ((took_s > 20 && 2 * took_s > 3 * recorded)); then
    warnings+=("stage $stage took $took_s s, more than one and a half times the recorded $recorded s")
  fi
  if ((code == 124 || code == 137)) && [ -n "${PACKSIM_CHECK_DEADLINE:-}" ]; then
    finish "STOPPED in stage $stage after $took_s s: no time is left"
    exit 1
  elif ((code)); then
    finish "FAILED in stage $stage (exit code $code)"
    exit "$code"
  fi
done
finish "PASSED: ${stages[*]}"
