"""torch.compile for functions of [rows, ...]: one compilation for any number of rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# The limit is on the compilations of one function. A plan of single kernels has many widths, each compiled on
# its own; at the default of 8 PyTorch would go on without compiling, and say so in a log alone.
_MOST_COMPILATIONS = 256


def raise_limits() -> None:
    """Reaching them is then an error, where PyTorch knows the setting."""
    import torch._dynamo

    config = torch._dynamo.config
    # Named cache_size_limit before PyTorch 2.6.
    for name in ("recompile_limit", "cache_size_limit"):
        if hasattr(config, name):
            setattr(config, name, _MOST_COMPILATIONS)
            break
    for name in ("accumulated_recompile_limit", "accumulated_cache_size_limit"):
        if hasattr(config, name):
            setattr(config, name, 16 * _MOST_COMPILATIONS)
            break
    if hasattr(config, "fail_on_recompile_limit_hit"):
        config.fail_on_recompile_limit_hit = True


def compiled_graphs() -> int:
    """How many compilations there were in this process so far."""
    if "torch._dynamo" not in sys.modules:
        return 0
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def compiled_for_any_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """All sizes but the first are constants of the compiled code, as in a model that is compiled whole: the
    blocks of a kernel follow from them. Were they to vary, those of the first call would stay."""
    compiled = torch.compile(function, dynamic=True)

    def call(*tensors: Tensor) -> Any:
        for tensor in tensors:
            for dimension in range(1, tensor.dim()):
                torch._dynamo.mark_static(tensor, dimension)
        return compiled(*tensors)

    return call
