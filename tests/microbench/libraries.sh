#!/bin/sh
# packsim_microbench is not built without a library that nobody left out on purpose. Usage:
# libraries.sh PROJECT_FOLDER NVCC
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
configure() { cmake -S "$1/calibration/microbench" -B "$folder/$2" -DPACKSIM_NVCC="$3" "$4" > "$folder/said" 2>&1; }

for library in cublaslt:CUBLASLT cudnn:CUDNN nccl:NCCL; do
  name=${library%:*} variable=PACKSIM_${library#*:}_library
  if configure "$1" "without-$name" "$2" "-D$variable=NOTFOUND"; then
    echo "expected no build without $name"; cat "$folder/said"; exit 1
  fi
  # CMake wraps its messages.
  tr -s ' \n' '  ' < "$folder/said" | grep -q "$name not found .*-DPACKSIM_WITHOUT=$name" ||
    { echo "expected what is missing and how to go on"; cat "$folder/said"; exit 1; }
done
configure "$1" left-out "$2" "-DPACKSIM_WITHOUT=cublaslt;cudnn;nccl" ||
  { echo "expected a build without libraries where that was asked for"; cat "$folder/said"; exit 1; }
grep -q "cudnn: left out as PACKSIM_WITHOUT says; attention will be skipped" "$folder/said" ||
  { echo "expected what is left out"; cat "$folder/said"; exit 1; }
