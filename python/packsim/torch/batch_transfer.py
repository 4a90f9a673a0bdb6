"""How a batch gets from one process to another: all its tensors in one piece of memory.

torch gives each tensor a file in shared memory, whose descriptor the other process asks for over a socket.
That took most of the CPU time of a loader with workers, for the five tensors of a pack of 8192 tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

# Up to so many bytes a pipe takes less CPU time than one file in shared memory does: see docs/performance.md.
MOST_BYTES_IN_PIPE = 2**19
_ALIGNMENT_BYTES = 64


class _Placed(NamedTuple):
    """Where the bytes of a tensor are."""

    begin: int
    end: int
    dtype: torch.dtype
    shape: tuple[int, ...]


class JoinedTensors(NamedTuple):
    """The values of a batch.

    Attributes
    ----------
    memory : bytearray or Tensor
        The bytes of its tensors: pickled as they are, or handed over as torch hands tensors over.
    placed : list of _Placed
    values : dict
        An int is the place in `placed`; other values are in a tuple.
    """

    memory: bytearray | Tensor
    placed: list[_Placed]
    values: dict[str, int | tuple[Any]]

    @classmethod
    def of(cls, batch: Mapping[str, Any]) -> JoinedTensors:
        # Tensors are kept by identity: a batch may have one tensor under two names.
        tensors = {id(value): value for value in batch.values() if _is_plain(value)}
        placed, n_bytes = [], 0
        for tensor in tensors.values():
            placed.append(_Placed(n_bytes, n_bytes + tensor.nbytes, tensor.dtype, tuple(tensor.shape)))
            n_bytes += -(-tensor.nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        n_bytes = max(n_bytes, 1)  # no tensor can be made of no bytes
        is_large = n_bytes > MOST_BYTES_IN_PIPE
        memory = torch.empty(n_bytes, dtype=torch.uint8) if is_large else bytearray(n_bytes)
        for tensor, copy in zip(tensors.values(), _views(memory, placed), strict=True):
            copy.copy_(tensor)
        places = {identity: place for place, identity in enumerate(tensors)}
        values = {name: places.get(id(value), (value,)) for name, value in batch.items()}
        return cls(memory, placed, values)

    def parted(self) -> dict[str, Any]:
        """The values again; the tensors are views of the memory."""
        tensors = _views(self.memory, self.placed)
        return {
            name: tensors[value] if isinstance(value, int) else value[0]
            for name, value in self.values.items()
        }


def _views(memory: bytearray | Tensor, placed: list[_Placed]) -> list[Tensor]:
    buffer = torch.frombuffer(memory, dtype=torch.uint8) if isinstance(memory, bytearray) else memory
    return [buffer[one.begin : one.end].view(one.dtype).view(one.shape) for one in placed]


def _is_plain(value: object) -> bool:
    """Whether the bytes of a tensor are all that there is to it."""
    return (
        type(value) is Tensor
        and value.device.type == "cpu"
        and value.layout is torch.strided
        and not value.is_quantized
        and not value.requires_grad
    )
