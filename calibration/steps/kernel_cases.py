"""Single kernels as PyTorch runs them: a table of one function a kernel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from calibration.steps.documents import Documents
from calibration.steps.kernel_case import KernelCase
from calibration.steps.machine import cache_bytes
from calibration.steps.measuring import Unavailable
from calibration.steps.memory_estimate import CHUNK_ROWS
from calibration.steps.training.attention import DocumentLayout
from calibration.steps.training.optimizer import WeightShard
from calibration.steps.training.trainer import Toolbox

Call = Callable[[], object]

# Cold: the operands of the calls in turn are this many times larger than the cache.
_COLD_CACHES = 3
_MOST_SETS = 256
# An embedding's case does not say how long the table is; Llama 3's.
_EMBEDDING_ROWS = 128256
# Blocks of values that share a scale in fp8_block, as DeepGEMM and torchao have them: of a token, of weights.
_SCALE_BLOCK = 128


@dataclass(frozen=True)
class PreparedKernel:
    """calls: endless; one again and again where caches may be hot, several in turn where cold."""

    calls: Iterator[Call]
    how: str  # what runs, for the details


def _random(toolbox: Toolbox, *shape: int) -> Tensor:
    return torch.randn(*shape, device=toolbox.device, dtype=torch.float32).to(toolbox.dtype)


def _sets(case: KernelCase, toolbox: Toolbox, size_bytes: int, make: Callable[[], Call]) -> Iterator[Call]:
    if case.value("cache") == "hot":
        return itertools.cycle([make()])
    n_caches = size_bytes / cache_bytes(toolbox.device)
    # Operands that large drive themselves out of the cache.
    n_sets = 1 if n_caches >= _COLD_CACHES else 1 + math.ceil(_COLD_CACHES / n_caches)
    return itertools.cycle([make() for _ in range(min(n_sets, _MOST_SETS))])


def _gemm(case: KernelCase, toolbox: Toolbox) -> PreparedKernel:
    m, n, k, layout = case.integer("m"), case.integer("n"), case.integer("k"), case.value("layout")
    dtype = case.value("dtype")
    if dtype in ("fp8", "fp8_block"):
        return _fp8_gemm(case, toolbox)
    if dtype != "bf16":
        raise Unavailable(f"products of dtype {dtype} are not measured here")

    def make() -> Call:
        left = _random(toolbox, k, m).t() if layout == "nt" else _random(toolbox, m, k)
        right = _random(toolbox, n, k).t() if layout == "tn" else _random(toolbox, k, n)
        out = _random(toolbox, m, n)
        return lambda: torch.mm(left, right, out=out)

    size_bytes = (m * k + k * n + m * n) * toolbox.dtype.itemsize
    return PreparedKernel(_sets(case, toolbox, size_bytes, make), "torch.mm")


def _fp8_gemm(case: KernelCase, toolbox: Toolbox) -> PreparedKernel:
    """e4m3 operands, a bf16 result: one scale for each operand, or in fp8_block one for each block of values."""
    m, n, k = case.integer("m"), case.integer("n"), case.integer("k")
    in_blocks = case.value("dtype") == "fp8_block"
    if case.value("layout") != "tn":
        raise Unavailable("in fp8 only layout=tn: Hopper's tensor cores read both operands along k")
    # Rows of values and rows of scales are whole 16 bytes.
    multiple_k, multiple_n = (4 * _SCALE_BLOCK, _SCALE_BLOCK) if in_blocks else (16, 16)
    if k % multiple_k or n % multiple_n:
        raise Unavailable(f"expected multiples of k={multiple_k} and n={multiple_n}, got k={k} and n={n}")

    def fp8(rows: int) -> Tensor:
        return torch.randn(rows, k, device=toolbox.device).to(torch.float8_e4m3fn)

    def scale(*shape: int) -> Tensor:
        return torch.rand(shape, device=toolbox.device) + 0.5

    def make() -> Call:
        left, right = fp8(m), fp8(n).t()
        if in_blocks:
            left_scale = scale(k // _SCALE_BLOCK, m).t()
            right_scale = scale(n // _SCALE_BLOCK, k // _SCALE_BLOCK).t()
        else:
            left_scale, right_scale = scale(), scale()
        out = torch.empty(m, n, device=toolbox.device, dtype=torch.bfloat16)
        return lambda: torch._scaled_mm(
            left, right, left_scale, right_scale, out_dtype=out.dtype, use_fast_accum=not in_blocks, out=out
        )

    size_bytes = m * k + k * n + 2 * m * n
    how = "torch._scaled_mm, " + ("blocks of 1x128 and 128x128" if in_blocks else "fast accumulation")
    return PreparedKernel(_sets(case, toolbox, size_bytes, make), how)


def _attention(case: KernelCase, toolbox: Toolbox) -> PreparedKernel:
    documents = Documents.parse(case.value("docs"))
    layout = DocumentLayout.of(documents, toolbox.device)
    heads, kv_heads, head_dim = (case.integer(key) for key in ("heads", "kv_heads", "head_dim"))
    inputs = [
        _random(toolbox, documents.tokens, n, head_dim).requires_grad_() for n in (heads, kv_heads, kv_heads)
    ]

    def forward() -> Tensor:
        return toolbox.attention(*inputs, layout)

    if case.value("pass") == "fwd":
        return PreparedKernel(itertools.repeat(forward), toolbox.attention_name)
    out, gradient = forward(), _random(toolbox, documents.tokens, heads, head_dim)

    def backward() -> object:
        return torch.autograd.grad(out, inputs, gradient, retain_graph=True)

    return PreparedKernel(itertools.repeat(backward), toolbox.attention_name)


def _differentiated(
    function: Callable[..., Tensor], inputs: list[Tensor], constants: list[Tensor], is_backward: bool
) -> Call:
    inputs = [tensor.requires_grad_() for tensor in inputs]
    if not is_backward:
        return lambda: function(*inputs, *constants)
    out = function(*inputs, *constants)
    gradient = torch.randn(out.shape, device=out.device, dtype=torch.float32).to(out.dtype)
    return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)


def _elementwise(case: KernelCase, toolbox: Toolbox) -> PreparedKernel:
    rows, cols, operation = case.integer("rows"), case.integer("cols"), case.value("op")
    is_backward = case.value("pass") == "bwd"
    pointwise = toolbox.pointwise

    def make() -> Call:
        x = _random(toolbox, rows, cols)
        if operation == "rms_norm":
            return _differentiated(pointwise.rms_norm, [x, _random(toolbox, cols)], [], is_backward)
        if operation == "swiglu":
            return _differentiated(pointwise.swiglu, [x, _random(toolbox, rows, cols)], [], is_backward)
        if operation == "rope":
            head_dim = next((size for size in (128, 64) if cols % size == 0), cols)
            angles = [_random(toolbox, rows, head_dim // 2) for _ in range(2)]
            return _differentiated(pointwise.rope, [x.view(rows, -1, head_dim)], angles, is_backward)
        if operation == "residual_add":
            # Backward, autograd adds the gradients of the two branches.
            y = _random(toolbox, rows, cols)
            return lambda: pointwise.residual_add(x, y)
        if operation == "embedding":
            return _embedding(toolbox, x, is_backward)
        return _cross_entropy(toolbox, x, is_backward)

    if operation == "rope" and cols % 2:
        raise Unavailable("rope needs an even number of cols")
    n_values = 2 * rows * cols + (_EMBEDDING_ROWS * cols if operation == "embedding" else 0)
    size_bytes = n_values * toolbox.dtype.itemsize
    return PreparedKernel(_sets(case, toolbox, size_bytes, make), pointwise.standing)


def _embedding(toolbox: Toolbox, gradient: Tensor, is_backward: bool) -> Call:
    rows, cols = gradient.shape
    table = torch.empty(_EMBEDDING_ROWS, cols, device=toolbox.device, dtype=toolbox.dtype).normal_()
    tokens = torch.randint(_EMBEDDING_ROWS, (rows,), device=toolbox.device)
    if is_backward:
        return lambda: table.index_add_(0, tokens, gradient)
    return lambda: toolbox.pointwise.embedding(tokens, table)


def _cross_entropy(toolbox: Toolbox, logits: Tensor, is_backward: bool) -> Call:
    # The chunked form of loss.py, chunk after chunk.
    labels = torch.randint(logits.shape[1], (logits.shape[0],), device=logits.device)
    scale = torch.ones((), device=logits.device)
    pairs = list(zip(logits.split(CHUNK_ROWS), labels.split(CHUNK_ROWS)))
    log_sums = [toolbox.pointwise.row_losses(*pair)[1] for pair in pairs]

    def forward() -> None:
        for pair in pairs:
            toolbox.pointwise.row_losses(*pair)

    def backward() -> None:
        for (chunk, chunk_labels), chunk_sums in zip(pairs, log_sums):
            toolbox.pointwise.write_logits_gradient(chunk, chunk_labels, chunk_sums, scale)

    return backward if is_backward else forward


def _copy(case: KernelCase, toolbox: Toolbox) -> PreparedKernel:
    size_bytes, kind = case.integer("bytes"), case.value("kind")
    if kind != "device" and toolbox.device.type == "cpu":
        raise Unavailable("the device is the host itself")

    def make() -> Call:
        def buffer(on_host: bool) -> Tensor:
            host = torch.randint(256, (size_bytes,), dtype=torch.uint8)
            if on_host:
                return host.pin_memory()
            return host.to(toolbox.device)

        source, target = buffer(kind == "host_to_device"), buffer(kind == "device_to_host")
        return lambda: target.copy_(source, non_blocking=True)

    return PreparedKernel(_sets(case, toolbox, 2 * size_bytes, make), "Tensor.copy_")


def _adamw(case: KernelCase, toolbox: Toolbox) -> PreparedKernel:
    shard = WeightShard(_random(toolbox, case.integer("parameters")))
    gradient = _random(toolbox, case.integer("parameters"))
    return PreparedKernel(
        itertools.repeat(lambda: toolbox.adamw.update(shard, gradient)), toolbox.adamw.standing
    )


def _launch_gap(case: KernelCase, toolbox: Toolbox) -> PreparedKernel:
    del case
    # PyTorch has no empty kernel: the smallest that it launches.
    one = torch.zeros(1, device=toolbox.device)
    return PreparedKernel(itertools.repeat(lambda: one.add_(1)), "Tensor.add_ of one element")


KERNELS: dict[str, Callable[[KernelCase, Toolbox], PreparedKernel]] = {
    "gemm": _gemm,
    "attention": _attention,
    "elementwise": _elementwise,
    "copy": _copy,
    "adamw": _adamw,
    "launch_gap": _launch_gap,
}
