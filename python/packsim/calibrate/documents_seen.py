"""Which documents a model was called with, from what it was called with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# Where documents begin and end, cumulated, by the names that models and collators have for it.
_CUMULATED = ("cu_seq_lens_q", "cu_seqlens_q", "cu_seqlens", "cu_seq_lens")
_LENGTHS = ("seq_lens", "seq_lengths", "sequence_lengths")
_POSITIONS = "position_ids"
_MASK = "attention_mask"
_TOKENS = ("input_ids", "tokens", "inputs_embeds", "input", "x")
INPUT_NAMES = (*_CUMULATED, *_LENGTHS, _POSITIONS, _MASK, *_TOKENS)

_Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RowDocuments:
    """The tokens of one row of a batch.

    Attributes
    ----------
    lengths_tokens : tuple of int
        Its documents, in their order.
    padding_tokens : int
    """

    lengths_tokens: tuple[int, ...]
    padding_tokens: int = 0

    @property
    def tokens(self) -> int:
        return sum(self.lengths_tokens) + self.padding_tokens


def says_documents(inputs: Mapping[str, Any]) -> bool:
    """Whether the model itself is told where documents begin, as attention over documents has to be."""
    return any(inputs.get(name) is not None for name in (*_CUMULATED, *_LENGTHS))


def rows_and_tokens(inputs: Mapping[str, Any]) -> tuple[int, int]:
    """(rows of the batch, tokens of a row).

    Raises
    ------
    ValueError
        Where nothing of the call has tokens.
    """
    for name in _TOKENS:
        value = inputs.get(name)
        if isinstance(value, torch.Tensor) and value.dim() > 0:
            has_values = name == "inputs_embeds" or value.is_floating_point()
            shape = value.shape[:-1] if has_values else value.shape
            return (1, int(shape[0])) if len(shape) == 1 else (int(shape[0]), int(shape[1]))
    raise ValueError(f"forward(): expected one of {', '.join(_TOKENS)}, got {', '.join(inputs) or 'none'}")


def documents_of(inputs: Mapping[str, Any], n_sharing: int = 1) -> list[RowDocuments]:
    """The documents of each row.

    What says where documents end goes first (cu_seqlens, seq_lens); then positions that begin anew, without
    the tokens that a mask leaves out; then a mask; else each row is a document.

    Parameters
    ----------
    inputs : mapping
        What the model was called with, by name.
    n_sharing : int
        Processes that share a row, of which the tokens are those of one.

    Raises
    ------
    ValueError
        For what does not fit to the tokens: with what was expected and what came.
    """
    n_rows, n_tokens = rows_and_tokens(inputs)
    n_tokens *= n_sharing
    for name in _CUMULATED:
        if inputs.get(name) is not None:
            return _of_ends(name, _integers(name, inputs[name]), inputs, n_rows * n_tokens)
    for name in _LENGTHS:
        if inputs.get(name) is not None:
            return _of_lengths(name, _integers(name, inputs[name]), n_rows, n_tokens)
    mask = _mask(inputs.get(_MASK), n_rows, n_tokens)
    positions = inputs.get(_POSITIONS)
    if positions is not None:
        return _of_positions(_integers(_POSITIONS, positions), mask, n_rows, n_tokens)
    if mask is None:
        return [RowDocuments((n_tokens,))] * n_rows
    return [_of_labels(row) for row in mask]


def _integers(name: str, value: Any) -> _Integers:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "iub":
        raise ValueError(f"{name}: expected integers, got {array.dtype}")
    return array.astype(np.int64)


def _of_ends(name: str, ends: _Integers, inputs: Mapping[str, Any], n_tokens: int) -> list[RowDocuments]:
    lengths = np.diff(ends.reshape(-1))
    if ends.size < 2 or ends.reshape(-1)[0] != 0 or (lengths < 0).any() or lengths.sum() > n_tokens:
        shown = str(ends.reshape(-1).tolist())[:60]
        raise ValueError(f"{name}: expected ends of documents that rise from 0 to {n_tokens}, got {shown}")
    lengths = lengths[lengths > 0]
    padding = n_tokens - int(lengths.sum())
    # packsim's collator adds padding as a last document, whose positions are all 0.
    positions = inputs.get(_POSITIONS)
    if padding == 0 and positions is not None and len(lengths) and lengths[-1] > 1:
        last = _integers(_POSITIONS, positions).reshape(-1)[-1:]
        if last.size and last[0] == 0:
            padding, lengths = int(lengths[-1]), lengths[:-1]
    return [RowDocuments(tuple(lengths.tolist()), padding)]


def _of_lengths(name: str, lengths: _Integers, n_rows: int, n_tokens: int) -> list[RowDocuments]:
    # A row of lengths is of one row of tokens, or of all of them one after another.
    if lengths.ndim == 1 and len(lengths) == n_rows and (lengths <= n_tokens).all():
        lengths = lengths[:, None]
    if lengths.ndim == 1:
        lengths, n_tokens = lengths[None], n_rows * n_tokens
    if lengths.ndim != 2 or (lengths < 0).any() or (lengths.sum(axis=1) > n_tokens).any():
        shown = str(lengths.tolist())[:60]
        raise ValueError(f"{name}: expected lengths of at most {n_tokens} tokens in a row, got {shown}")
    return [RowDocuments(tuple(row[row > 0].tolist()), n_tokens - int(row.sum())) for row in lengths]


def _mask(value: Any, n_rows: int, n_tokens: int) -> _Integers | None:
    """For each token the number of its document, from 1; 0 for padding. None where no mask says it."""
    if isinstance(value, Mapping):  # one for each kind of layer
        value = value.get("full_attention", next(iter(value.values()), None))
    if not isinstance(value, torch.Tensor):  # none, or FlexAttention's
        return None
    if value.dim() == 4:
        return _of_square(value, n_rows, n_tokens)
    mask = _integers(_MASK, value) if not value.is_floating_point() else value.detach().cpu().numpy() != 0
    if mask.shape != (n_rows, n_tokens):
        expected = f"shape ({n_rows}, {n_tokens}), as of the tokens"
        raise ValueError(f"{_MASK}: expected {expected}, got {tuple(mask.shape)}")
    return mask.astype(np.int64)


def _of_square(mask: torch.Tensor, n_rows: int, n_tokens: int) -> _Integers:
    """A token that does not attend to the one before it begins a document."""
    if mask.shape[0] not in (1, n_rows) or tuple(mask.shape[2:]) != (n_tokens, n_tokens):
        expected = f"shape ({n_rows}, 1, {n_tokens}, {n_tokens})"
        raise ValueError(f"{_MASK}: expected {expected}, got {tuple(mask.shape)}")
    attends = mask if mask.dtype == torch.bool else mask == 0 if mask.is_floating_point() else mask > 0
    before = attends[:, 0].diagonal(-1, dim1=1, dim2=2).cpu().numpy()
    begins = np.ones((before.shape[0], n_tokens), dtype=np.int64)
    begins[:, 1:] = ~before
    return np.broadcast_to(begins.cumsum(axis=1), (n_rows, n_tokens))


def _of_labels(labels: _Integers) -> RowDocuments:
    """labels: for each token of a row that of its document, 0 in padding."""
    data = labels[labels != 0]
    changes = np.flatnonzero(np.diff(data)) + 1
    lengths = np.diff([0, *changes.tolist(), len(data)]) if len(data) else np.zeros(0, dtype=np.int64)
    return RowDocuments(tuple(lengths.tolist()), len(labels) - len(data))


def _of_positions(
    positions: _Integers, mask: _Integers | None, n_rows: int, n_tokens: int
) -> list[RowDocuments]:
    if positions.ndim == 3:  # several axes of one position, the first that of the text
        positions = positions[0]
    positions = positions.reshape(-1, positions.shape[-1]) if positions.ndim else positions
    if positions.shape not in ((1, n_tokens), (n_rows, n_tokens)):
        expected = f"shape ({n_rows}, {n_tokens}), as of the tokens"
        raise ValueError(f"{_POSITIONS}: expected {expected}, got {tuple(positions.shape)}")
    rows = np.broadcast_to(positions, (n_rows, n_tokens))
    if mask is None:
        return [_of_row_positions(row) for row in rows]
    return [
        _with_padding(_of_row_positions(row[kept != 0], may_be_padded=False), int((kept == 0).sum()))
        for row, kept in zip(rows, mask, strict=True)
    ]


def _of_row_positions(positions: _Integers, may_be_padded: bool = True) -> RowDocuments:
    # Padding has position 0: of several zeros at the end, all are padding.
    others = np.flatnonzero(positions)
    n_zeros = len(positions) - (int(others[-1]) + 1 if len(others) else 0)
    padding = n_zeros if may_be_padded and n_zeros > 1 else 0
    data = positions[: len(positions) - padding]
    begins = np.flatnonzero(data == 0)
    starts = np.unique(np.concatenate([[0], begins])) if len(data) else begins
    lengths = np.diff([*starts.tolist(), len(data)])
    return RowDocuments(tuple(lengths.tolist()), padding)


def _with_padding(row: RowDocuments, padding_tokens: int) -> RowDocuments:
    return RowDocuments(row.lengths_tokens, row.padding_tokens + padding_tokens)
