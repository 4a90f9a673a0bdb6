#!/bin/bash
# calibration/on_a_gpu.sh with programs that stand in for the real ones: it keeps the order and the time, a step
# that fails or hangs costs itself alone, and the same command goes on. Usage: on_a_gpu.sh PROJECT_FOLDER
set -u
script=$1/calibration/on_a_gpu.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wrong() { echo "$*"; exit 1; }

said=$("$script" "$folder/dry" --seconds 500 --dry-run) || wrong "--dry-run failed"
[ "$(echo "$said" | cut -d: -f1 | head -3 | tr '\n' ' ')" = "smoke kernels steps " ] || wrong "another order: $said"
planned_s=$(($(echo "$said" | sed 's/.*at most \([0-9]*\) s.*/\1/' | paste -sd+)))
[ "$planned_s" -le 500 ] || wrong "expected at most 500 s planned, got $planned_s"
# The steps of both plans, none lost and none twice.
want=$(cat "$1"/calibration/plans/steps-fit.txt "$1"/calibration/plans/steps-held-out.txt | grep -c '^step')
got=$(sort -u "$folder/dry/plans/steps.txt" | grep -c '^step')
[ "$want" = "$got" ] || wrong "expected $want different steps, got $got"
for plan in smoke smoke-pytorch pytorch gradients repeat; do
  [ -s "$folder/dry/plans/$plan.txt" ] || wrong "$plan.txt is empty"
done

# gradients fail, repeat hangs, kernels work.
cat > "$folder/bench" <<'BENCH'
#!/bin/bash
echo "called with $*" >> "$CALLS"
case "$*" in
  *gradients.txt*) exit 3 ;;
  *repeat.txt*) sleep 100 ;;
esac
BENCH
chmod +x "$folder/bench"
export PACKSIM_MICROBENCH=$folder/bench PACKSIM_PYTHON=false CALLS=$folder/calls
begin_s=$(date +%s)
said=$("$script" "$folder/out" --seconds 9 --steps kernels,gradients,repeat)
took_s=$(($(date +%s) - begin_s))
[ "$took_s" -le 30 ] || wrong "a step that hangs was not ended: $took_s s"
[ -e "$folder/out/kernels.done" ] || wrong "kernels worked, but are not done: $said"
[ ! -e "$folder/out/gradients.done" ] || wrong "gradients failed, but count as done"
[ ! -e "$folder/out/repeat.done" ] || wrong "repeat hung, but counts as done"
case $said in *"gradients: exit code 3"*"repeat: exit code 124"*) ;; *) wrong "expected what failed, got: $said" ;; esac
! pgrep -f "$folder/bench" > /dev/null || wrong "the process that hung is still there"

# A program that crashes in its first two cases is begun again behind each; one that crashes at once is not.
cat > "$folder/crashing" <<'BENCH'
#!/bin/bash
echo "called with $*" >> "$CALLS"
out=$(echo "$*" | sed 's/.*--out \([^ ]*\).*/\1/')
case "$*" in *repeat.txt*) kill -SEGV $$ ;; esac
n=$(grep -c began "$out" 2> /dev/null)
echo "{\"began\": \"case ${n:-0}\"}" >> "$out"
[ "${n:-0}" -ge 2 ] || kill -SEGV $$
BENCH
chmod +x "$folder/crashing"
: > "$CALLS"
said=$(PACKSIM_MICROBENCH=$folder/crashing "$script" "$folder/crashed" --seconds 60 --steps kernels,repeat 2> /dev/null)
[ "$(grep -c quick.txt "$CALLS")" = 3 ] || wrong "expected three starts: $(cat "$CALLS")"
[ -e "$folder/crashed/kernels.done" ] || wrong "what came after two crashes was not measured: $said"
[ "$(grep -c repeat.txt "$CALLS")" = 1 ] || wrong "expected one start of what crashes at once: $(cat "$CALLS")"
[ ! -e "$folder/crashed/repeat.done" ] || wrong "what crashes at once counts as done"

: > "$CALLS"
"$script" "$folder/out" --seconds 30 --steps kernels,gradients > /dev/null
grep -q quick.txt "$CALLS" && wrong "what was done is done again"
grep -q gradients.txt "$CALLS" || wrong "what failed is not tried again"

for arguments in "" "a b" "a --seconds x" "a --seconds" "a --wrong"; do
  # shellcheck disable=SC2086
  (cd "$folder" && "$script" $arguments) > /dev/null 2>&1
  [ $? = 2 ] || wrong "expected exit code 2 for \"$arguments\""
done
exit 0
