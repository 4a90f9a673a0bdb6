#!/usr/bin/env bash
# Measures a GPU that is there for minutes: everything that packsim wants to know of it, the most valuable first.
#
#   calibration/on_a_gpu.sh OUT_FOLDER [--seconds N] [--steps smoke,kernels,...] [--dry-run]
#
# Needs build-cuda/packsim_microbench (make microbench, on any machine with nvcc) and a python3 with PyTorch;
# downloads nothing. Each step is a process of its own with its own time, so that one that fails, hangs or is
# killed costs the others nothing, and the same command goes on where it was. --dry-run says what would run.
set -uo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "on_a_gpu.sh: $*" >&2
  exit 2
}

out=""
seconds=1500
wanted=""
dry_run=no
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:-}; shift 2 || fail "--seconds: expected a number, got nothing" ;;
    --steps) wanted=${2:-}; shift 2 || fail "--steps: expected names, got nothing" ;;
    --dry-run) dry_run=yes; shift ;;
    -*) fail "expected --seconds, --steps or --dry-run, got $1" ;;
    *) [ -z "$out" ] || fail "expected one folder, got $out and $1"; out=$1; shift ;;
  esac
done
[ -n "$out" ] || fail "expected a folder for the results, got none"
[[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "--seconds: expected an integer of at least 1, got \"$seconds\""

bench=${PACKSIM_MICROBENCH:-build-cuda/packsim_microbench}
python=${PACKSIM_PYTHON:-python3}
plans=calibration/plans
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false
# The CUDA libraries that PyTorch brought, so that kernels and steps are measured with the same.
if [ "$dry_run" = no ]; then
  folders=$("$python" -c 'import glob, nvidia
print(":".join(f for p in nvidia.__path__ for f in sorted(glob.glob(p + "/*/lib"))))' 2>/dev/null || true)
  export LD_LIBRARY_PATH=${folders:+$folders:}${LD_LIBRARY_PATH:-}
fi
mkdir -p "$out" || exit 2

# A step a line: name | seconds at most | what it is for. Its commands are the function step_NAME.
all_steps='smoke|100|does everything run: libraries, every kernel against the CPU, one case of each kind, one training step
kernels|260|the kernels of the shipped scenarios, quick plan
steps|240|36 training steps on packs of real lengths: those to fit and those held out
pytorch|150|large products by both programs, in fp8 too, and attention by the kernels of the training steps
gradients|40|gradients of weights that are added into fp32, as Megatron adds them
repeat|40|forty cases a second time, by another process: how far do runs differ
sanitizer|60|compute-sanitizer on every kernel at a small size
more|1200|the full plan, as far as the time goes'

plans_folder=$out/plans
mkdir -p "$plans_folder"
measure_steps() { again "$python" calibration/steps/measure_steps.py "$@"; }

# Runs a program again while it ends by a signal or its watchdog, as it passes by the case that it was in: a crash
# costs one case, not those after it. A program that measured nothing new is not begun again.
again() {
  local results="" code before now arguments=("$@")
  while [ $# -gt 0 ]; do [ "$1" != --out ] || results=$2; shift; done
  n_begun() { grep -c '^{"began"' "$results" 2> /dev/null || [ -e "$results" ] || echo 0; }
  while :; do
    before=$(n_begun)
    "${arguments[@]}"
    code=$?
    [ "$code" -ge 128 ] || [ "$code" -eq 3 ] || return "$code"
    now=$(n_begun)
    [ "$now" -gt "$before" ] || return "$code"
    echo "on_a_gpu.sh: begun again after exit code $code"
  done
}

step_smoke() {
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit,temperature.gpu,ecc.mode.current \
             --format=csv
  "$bench" --list
  "$bench" --verify
  "$bench" --plan "$plans_folder/smoke.txt" --out "$out/smoke.jsonl"
  measure_steps --plan "$plans_folder/smoke-pytorch.txt" --out "$out/smoke-pytorch.jsonl"
}
step_kernels() { again "$bench" --plan $plans/quick.txt --out "$out/kernels.jsonl" --budget-s "$1"; }
step_steps() {
  measure_steps --plan "$plans_folder/steps.txt" --out "$out/steps.jsonl" --warmup 2 --max-samples 8 --budget-s 6 \
                --budget-total-s "$1"
}
step_pytorch() {
  again "$bench" --plan "$plans_folder/products.txt" --out "$out/products.jsonl" --budget-s $(($1 / 4))
  measure_steps --plan "$plans_folder/pytorch.txt" --out "$out/pytorch.jsonl" --only kernels \
                --budget-total-s $(($1 - $1 / 4))
}
step_gradients() { again "$bench" --plan "$plans_folder/gradients.txt" --out "$out/kernels.jsonl" --budget-s "$1"; }
step_repeat() { again "$bench" --plan "$plans_folder/repeat.txt" --out "$out/repeat.jsonl" --budget-s "$1"; }
# NCCL asks for kernels that it does not have, and expects the error: errors of calls are not reported.
step_sanitizer() { compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 "$bench" --verify; }
step_more() { again "$bench" --plan $plans/full.txt --out "$out/kernels.jsonl" --budget-s "$1"; }

export out bench python plans plans_folder
export -f again measure_steps step_smoke step_kernels step_steps step_pytorch step_gradients step_repeat step_sanitizer step_more

# Plans made of the shipped ones.
one_gpu() { grep -vE '^ *(#|$|collective|overlap)' "$1"; }
{
  one_gpu $plans/quick.txt | awk '{ kind = $1 " " $2 " " ($1 == "gemm" ? $5 : $3); if (!($1 ~ /gemm|attention/)) kind = $1 " " $2
                                    if (!(kind in seen) && n[$1]++ < 4) { seen[kind] = 1; print } }'
} > "$plans_folder/smoke.txt"
{
  echo "attention pass=fwd docs=8x2048 heads=32 kv_heads=8 head_dim=128"
  echo "attention pass=bwd docs=8x2048 heads=32 kv_heads=8 head_dim=128"
  grep -h '^step' $plans/steps-fit.txt | head -1
} > "$plans_folder/smoke-pytorch.txt"
# Steps to fit and held out in turn, models of few layers first, so that a run that is cut has some of each.
for layers in 4 8 12 16; do
  paste -d '\n' <(grep "^step .* layers=$layers " $plans/steps-fit.txt) \
                <(grep "^step .* layers=$layers " $plans/steps-held-out.txt) | grep -v '^$'
done > "$plans_folder/steps.txt"
# Large products as both programs run them, in bf16; then in fp8, with one scale for each operand and by blocks.
grep -h '^gemm' $plans/quick.txt | grep layout=tn | grep -E ' m=(8192|16384|4096) n=[0-9]{4,} ' | grep -v cache=hot |
  head -16 > "$plans_folder/products.txt"
# FlashAttention as the training steps run it: few heads first, as ranks of a sequence-parallel group have them.
{
  cat "$plans_folder/products.txt"
  sed 's/$/ dtype=fp8/' "$plans_folder/products.txt"
  sed 's/$/ dtype=fp8_block/' "$plans_folder/products.txt" | head -10
  one_gpu $plans/full.txt | grep '^attention' | grep ' heads=4 ' | head -28
  one_gpu $plans/full.txt | grep '^attention' | grep -E ' docs=1x(296|2869|3963|14267|65536)[ +]' | grep ' heads=32 '
  grep -h '^attention' $plans/quick.txt
} | awk '!seen[$0]++' > "$plans_folder/pytorch.txt"
grep -hE '^gemm .*layout=nt' $plans/quick.txt | grep -E '=(4096|8192) ' | sed 's/$/ dtype=bf16_into_fp32/' | head -40 \
  > "$plans_folder/gradients.txt"
one_gpu $plans/quick.txt | awk 'NR % 7 == 1' | head -40 > "$plans_folder/repeat.txt"

start_s=$(date +%s)
left_s() { echo $((seconds - ($(date +%s) - start_s))); }
planned_s=0
while IFS='|' read -r name most_s what; do
  if [ -n "$wanted" ] && [[ ",$wanted," != *",$name,"* ]]; then continue; fi
  if [ "$dry_run" = yes ]; then
    own_s=$((seconds - planned_s < most_s ? seconds - planned_s : most_s))
    planned_s=$((planned_s + own_s))
    echo "$name: at most $own_s s: $what"
    continue
  fi
  if [ -e "$out/$name.done" ]; then continue; fi
  own_s=$(left_s)
  if [ "$own_s" -lt 5 ]; then
    echo "== $name: no time left"
    continue
  fi
  if [ "$own_s" -gt "$most_s" ]; then own_s=$most_s; fi
  begin_s=$(date +%s)
  echo "== $name, at most $own_s s: $what"
  # The programs end by their own budget, which leaves them time to start and to end; what hangs is ended here,
  # with all that it started.
  own_budget_s=$((own_s > 30 ? own_s - 12 : own_s - own_s / 3))
  timeout -k 3 "$own_s" bash -c "step_$name $own_budget_s" >> "$out/$name.log" 2>&1 < /dev/null
  code=$?
  [ "$code" -eq 0 ] && touch "$out/$name.done"
  echo "== $name: exit code $code after $(($(date +%s) - begin_s)) s"
  tail -n 12 "$out/$name.log"
done <<< "$all_steps"
