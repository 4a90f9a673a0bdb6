#!/usr/bin/env bash
# Fetches the CUDA libraries that packsim_microbench can use and that the system lacks, as pip wheels, into
# .cuda/ of the project (another folder: PACKSIM_CUDA_DIR). Without nvcc there is nothing to build, so nothing
# is fetched. The CUDA toolkit itself comes from NVIDIA or the distribution.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
into=${PACKSIM_CUDA_DIR:-$root/.cuda}

# The versions that PyTorch 2.11 for CUDA 13.0 runs with, so that kernels and training steps are measured with
# the same libraries. They need a driver of CUDA 13 (580 or later).
cublas=nvidia-cublas==13.1.0.3
cudnn=nvidia-cudnn-cu13==9.19.0.56
frontend=nvidia-cudnn-frontend==1.18.0  # later ones want the header of NVRTC too
nccl=nvidia-nccl-cu13==2.28.9
nvrtc=nvidia-cuda-nvrtc==13.0.88

nvcc=${CUDACXX:-$(command -v nvcc || true)}
for candidate in /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc; do
  if [ -z "$nvcc" ] && [ -x "$candidate" ]; then nvcc=$candidate; fi
done
if [ -z "$nvcc" ]; then
  echo "install_cuda.sh: no nvcc, so packsim_microbench is not built and no CUDA library is needed"
  exit 0
fi
# nvcc may be a link or a script: it knows where its toolkit is.
toolkit=$("$nvcc" --dryrun -x cu -c /dev/null -o /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p' | head -1)
release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
if [ "$release" != 13 ]; then
  echo "install_cuda.sh: the wheels are for CUDA 13, and $nvcc is CUDA $release: install cuBLAS, cuDNN and NCCL" \
       "of that version by hand, or go without"
  exit 0
fi

has() {  # a file of this name under the toolkit or the system's folders
  local folder
  for folder in "$toolkit" "$toolkit"/targets/* /usr /usr/local; do
    for found in "$folder"/{include,include/*-linux-gnu,lib,lib64,lib/*-linux-gnu}/"$1"; do
      if [ -e "$found" ]; then return 0; fi
    done
  done
  return 1
}

wanted=()
has cublasLt.h || wanted+=("$cublas")
has cudnn.h || wanted+=("$cudnn")
has cudnn_frontend.h || wanted+=("$frontend")
has nccl.h || wanted+=("$nccl")
has libnvrtc.so.13 || wanted+=("$nvrtc")  # cuDNN compiles its attention kernels with it
if [ ${#wanted[@]} -eq 0 ]; then
  echo "install_cuda.sh: cuBLASLt, cuDNN, its frontend, NCCL and NVRTC are on this system already"
  exit 0
fi
if [ -f "$into/versions" ] && [ "$(cat "$into/versions")" = "${wanted[*]}" ]; then
  echo "install_cuda.sh: $into is up to date"
  exit 0
fi

echo "install_cuda.sh: fetching ${wanted[*]} into $into"
rm -rf "$into"
if ! python3 -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --no-cache-dir \
     --only-binary=:all: --target "$into" "${wanted[@]}"; then
  rm -rf "$into"
  echo "install_cuda.sh: pip could not fetch them; packsim_microbench is built without what is missing" >&2
  exit 1
fi
echo "${wanted[*]}" > "$into/versions"
echo "install_cuda.sh: done, $(du -sh "$into" | cut -f1) in $into"
