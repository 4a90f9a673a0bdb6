#!/usr/bin/env bash
# Fits the hardware profiles of calibration/profiles/hardware from the published measurements beside this file.
# Usage: fit_profiles.sh PACKSIM. Which stack stands for a kernel is chosen here, as the one with most rows is
# not always the one that trains: see README.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
packsim=$1
out=calibration/profiles/hardware

"$packsim" calibrate fit --force calibration/data/h200-public-network.jsonl --name h200-network-public --hardware $out/h200-network-public.json \
  --description "All-gather between two nodes of 8 NVIDIA H200 over RoCE, from published measurements" \
  --library "collective=nccl-2.26.6-gib" "${@:2}"
"$packsim" calibrate fit --force calibration/data/h100-public-*.jsonl --name h100-sxm-public --hardware $out/h100-sxm-public.json \
  --description "NVIDIA H100 SXM5 80GB from published measurements, several software stacks; nothing measured by this project" \
  --library gemm=trtllm-1.3.0rc20 --library "attention pass=fwd=fa3-sglang-0.5.14" --library "attention pass=bwd=fa3-magi" \
  --library "elementwise op=rms_norm pass=fwd=liger" --library "elementwise op=swiglu pass=fwd=liger" \
  --library "elementwise op=rms_norm pass=bwd=torch-autograd" --library "elementwise op=cross_entropy pass=fwd=liger" \
  --library "elementwise op=swiglu pass=bwd=liger-autograd" --library "elementwise op=cross_entropy pass=bwd=liger-autograd" \
  --library "elementwise op=rope pass=fwd=vidur" --library "elementwise op=rope pass=bwd=liger-autograd" \
  --library "collective=nccl-2.27.3" --missing-from h200-network-public "${@:2}"
"$packsim" calibrate fit --force calibration/data/h100-public-*.jsonl --name h100-sxm-public-fa2 --hardware $out/h100-sxm-public-fa2.json \
  --description "NVIDIA H100 SXM5 80GB from published measurements, several software stacks, attention of FlashAttention-2; nothing measured by this project" \
  --library gemm=trtllm-1.3.0rc20 --library "attention pass=fwd=fa2-magi" --library "attention pass=bwd=fa2-magi" \
  --library "elementwise op=rms_norm pass=fwd=liger" --library "elementwise op=swiglu pass=fwd=liger" \
  --library "elementwise op=rms_norm pass=bwd=torch-autograd" --library "elementwise op=cross_entropy pass=fwd=liger" \
  --library "elementwise op=swiglu pass=bwd=liger-autograd" --library "elementwise op=cross_entropy pass=bwd=liger-autograd" \
  --library "elementwise op=rope pass=fwd=vidur" --library "elementwise op=rope pass=bwd=liger-autograd" \
  --library "collective=nccl-2.27.3" --missing-from h200-network-public "${@:2}"
"$packsim" calibrate fit --force calibration/data/h200-public-{attention,elementwise}.jsonl --name h200-sxm-public --hardware $out/h200-sxm-public.json \
  --description "NVIDIA H200 SXM 141GB from published measurements: cuDNN attention and rms_norm only" \
  --library elementwise=cudnn "${@:2}"
"$packsim" calibrate fit --force calibration/data/mi300x-public-{attention,gemm}.jsonl --name mi300x-public --hardware $out/mi300x-public.json \
  --description "AMD Instinct MI300X from published measurements of Primus-Turbo: matrix products and attention only" "${@:2}"

# Measured by this project (calibration/measured). Collectives are the public ones: one GPU has none.
measured=calibration/measured
"$packsim" calibrate fit --force $measured/h100-kernels.jsonl calibration/data/h100-public-collectives.jsonl --name h100-measured \
  --hardware $out/h100-measured.json \
  --description "One NVIDIA H100 SXM5 80GB as this project measured it at sustained clocks: cuBLASLt 13.1, cuDNN 9.19; collectives as published" \
  --library collective=nccl-2.27.3 --missing-from h200-network-public "${@:2}"
"$packsim" calibrate fit --force $measured/h200-kernels.jsonl --name h200-measured --hardware $out/h200-measured.json \
  --description "One NVIDIA H200 SXM 141GB as this project measured it at sustained clocks: cuBLASLt 13.1, cuDNN 9.19; collectives as published of H100s" \
  --missing-from h100-measured "${@:2}"
"$packsim" calibrate fit --force $measured/h100-steps-fit.jsonl --name pytorch-h100 --on h100-measured \
  --framework calibration/profiles/pytorch-h100.json \
  --description "PyTorch 2.11 on one H100: compiled pointwise kernels, FlashAttention-2 by varlen_attn, torch's own gradients, fused AdamW"
"$packsim" calibrate fit --force $measured/h200-steps-fit.jsonl --name pytorch-h200 --on h200-measured --cluster h200-sxm-141gb \
  --framework calibration/profiles/pytorch-h200.json \
  --description "PyTorch 2.11 on one H200: compiled pointwise kernels, FlashAttention-2 by varlen_attn, torch's own gradients, fused AdamW"
