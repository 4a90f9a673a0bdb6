"""What becomes of the columns of samples, beside their ids and labels: each follows a named rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from packsim._arguments import Problems, described, nearest_hint
from packsim.torch.dataset import FetchedPack
from packsim.torch.packed_batch import PackedBatch

COLUMN_RULES = {
    "concatenate": "a value for each token, along the packed row; cut together with the tokens",
    "concatenate_documents": "any number of rows for each document, one document after another",
    "stack": "a value or an array of one shape for each document",
    "keep": "a list with one member for each document",
    "ones": "checked to be 1 for each token, and left out",
    "drop": "left out",
}

_OWN = frozenset(("input_ids", "labels"))
# What the collator makes itself: samples cannot bring it.
_MADE = frozenset(
    ("position_ids", "loss_weights", "cu_seqlens", "max_seqlen", "attention_mask", "shift_labels")
    + ("shift_loss_weights", "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k")
)
COLLATOR_KEYS = _OWN | _MADE  # of a batch, whatever columns the samples have


@dataclass(frozen=True)
class Column:
    """The rule for a column of the samples.

    Attributes
    ----------
    rule
        A name of `COLUMN_RULES`.
    fill
        In padding. Of rule "concatenate".
    dtype
        What values are converted to; by default they keep their own.
    shape
        Of the value of one token ("concatenate"), of one row ("concatenate_documents"), or of the value of a
        document ("stack"); by default that of the samples. Where no document of a batch has a row, it says
        the shape of the empty tensor.
    """

    rule: str
    fill: float = 0
    dtype: torch.dtype | None = None
    shape: tuple[int, ...] | None = None


# Columns whose meaning is known, for which no rule need be given. Tokenizers make both.
_KNOWN = {"attention_mask": Column("ones"), "token_type_ids": Column("concatenate")}


class _Piece(NamedTuple):
    """A document of the batch; tokens `start` to `end` of `sample`."""

    sample_index: int
    sample: Mapping[str, Any]
    start: int
    end: int
    sample_tokens: int

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.end == self.sample_tokens


class _Values(NamedTuple):
    """A column of a batch."""

    name: str
    column: Column
    pieces: list[_Piece]
    batch: PackedBatch
    begins: list[tuple[int, int]]  # row and token where each piece begins
    example: object  # the value of another sample, where there are no pieces; None: not known


class ColumnRules:
    """The rules of a collator.

    Parameters
    ----------
    columns : mapping of str to str or Column
        A rule for each column; those of `input_ids` and `labels` are fixed.
    problems : Problems
        Where mistakes go.
    """

    def __init__(self, columns: Mapping[str, str | Column] | None, problems: Problems) -> None:
        self._columns: dict[str, Column] = {}
        for name, given in (columns or {}).items():
            column = given if isinstance(given, Column) else Column(given)
            _check_rule(name, column, problems)
            self._columns[name] = column

    def add_to(self, batch: PackedBatch, pack: FetchedPack, layout: str) -> PackedBatch:
        """The batch with the columns of its samples.

        Raises
        ------
        ValueError
            For columns without a rule, columns that some samples lack, and values that do not fit their rule.
        """
        problems = Problems()
        pieces = _pieces_of(pack)
        # A document without tokens is none for attention.
        documents = [piece for piece in pieces if piece.end > piece.start]
        begins = _begins(documents, layout)
        example = pack.example if isinstance(pack.example, Mapping) and not pieces else {}
        for name, column in self._columns_of(pieces or [_Piece(0, example, 0, 0, 0)], problems).items():
            if _lacks(name, column, pieces, problems):
                continue
            if column.rule == "concatenate_documents":
                _check_not_lost(name, pieces, problems)
            values = _Values(name, column, documents, batch, begins, example.get(name))
            with problems.collected():
                made = _MAKE[column.rule](values)
                for taken in made.keys() & batch.keys():
                    problems.add(f"column {name!r}: expected names that the batch has not yet, got {taken!r}")
                batch |= made
                if column.rule == "concatenate":
                    batch.token_columns += (name,)
        problems.raise_if_any()
        return batch

    def _columns_of(self, pieces: list[_Piece], problems: Problems) -> dict[str, Column]:
        """The rule of every column of the samples, and of those that they should have."""
        found: dict[str, _Piece] = {}
        for piece in pieces:
            for name in piece.sample:
                if name not in _OWN:
                    found.setdefault(name, piece)
        columns = {}
        for name, piece in found.items():
            column = self._columns.get(name, _KNOWN.get(name))
            if column is None:
                problems.add(_without_rule(name, piece))
            else:
                columns[name] = column
        return {**self._columns, **columns}


def _check_rule(name: str, column: Column, problems: Problems) -> None:
    place = f"columns[{name!r}]"
    if not isinstance(column.rule, str) or column.rule not in COLUMN_RULES:
        got = described(column.rule) + nearest_hint(str(column.rule), list(COLUMN_RULES))
        problems.add(f"{place}: expected one of {', '.join(COLUMN_RULES)}, got {got}")
    elif name in _OWN:
        problems.add(f"{place}: expected none, as the collator knows it, got {column.rule!r}")
    elif name in _MADE and column.rule not in ("ones", "drop"):
        problems.add(f"{place}: expected ones or drop, as the collator makes its own, got {column.rule!r}")


def _without_rule(name: str, piece: _Piece) -> str:
    rules = "; ".join(f"{rule!r}: {meaning}" for rule, meaning in COLUMN_RULES.items())
    got = f"got none, and sample {piece.sample_index} has {described(piece.sample[name])}"
    return f"column {name!r}: expected a rule for it, as columns={{{name!r}: RULE}}, {got}. Rules are {rules}"


def _pieces_of(pack: FetchedPack) -> list[_Piece]:
    micro_batch = pack.micro_batch
    places = zip(
        micro_batch.samples.tolist(),
        micro_batch.starts_tokens.tolist(),
        micro_batch.tokens.tolist(),
        pack,
        strict=True,
    )
    pieces = []
    for index, start, n_tokens, sample in places:
        is_mapping = isinstance(sample, Mapping)
        columns = sample if is_mapping else {}
        sample_tokens = len(sample["input_ids"] if is_mapping else sample)
        pieces.append(_Piece(index, columns, start, start + n_tokens, sample_tokens))
    return pieces


def _begins(pieces: Sequence[_Piece], layout: str) -> list[tuple[int, int]]:
    if layout == "rows":
        return [(row, 0) for row in range(len(pieces))]
    ends = np.cumsum([0, *(piece.end - piece.start for piece in pieces)]).tolist()
    return [(0, begin) for begin in ends[:-1]]


def _lacks(name: str, column: Column, pieces: Sequence[_Piece], problems: Problems) -> bool:
    """Whether some samples lack the column; says which."""
    if column.rule in ("ones", "drop"):  # nothing would be lost
        return False
    lacking = [piece.sample_index for piece in pieces if name not in piece.sample]
    if lacking:
        more = f", and {len(lacking) - 1} more of the pack" if len(lacking) > 1 else ""
        problems.add(f"column {name!r}: expected in every sample, got none in sample {lacking[0]}{more}")
    return bool(lacking)


def _check_not_lost(name: str, pieces: Sequence[_Piece], problems: Problems) -> None:
    """Rows of a sample belong to all of it: its tokens may not be cut, or there be none."""
    for piece in pieces:
        value = piece.sample[name]
        n_rows = 0 if value is None else _n_rows(value)
        if n_rows and (piece.end == piece.start or not piece.is_whole):
            tokens = f"tokens {piece.start} to {piece.end} of {piece.sample_tokens}"
            expected = "a whole sample with tokens, as its rows cannot be cut with them"
            problems.add(f"sample {piece.sample_index}: column {name!r}: expected {expected}, got {tokens}")


def _make_per_token(values: _Values) -> dict[str, Any]:
    given = []
    for piece in values.pieces:
        value = piece.sample[values.name]
        n_values = _n_rows(value)
        if n_values != piece.sample_tokens:
            expected = f"{piece.sample_tokens} values, one for each token"
            raise _mistake(values, piece, expected, _counted(n_values, "values", value))
        given.append((piece, value[piece.start : piece.end]))
    tensors, like = _checked(values, given, values.example, 1)
    fill = torch.tensor(values.column.fill).to(like.dtype)
    if fill.item() != values.column.fill:
        expected = f"a value of {like.dtype}, that of the column"
        raise ValueError(f"columns[{values.name!r}].fill: expected {expected}, got {values.column.fill!r}")
    made = torch.full((*values.batch["input_ids"].shape, *like.shape[1:]), fill.item(), dtype=like.dtype)
    for piece, (row, begin), tensor in zip(values.pieces, values.begins, tensors, strict=True):
        made[row, begin : begin + piece.end - piece.start] = tensor
    return {values.name: made}


def _make_of_rows(values: _Values) -> dict[str, Any]:
    given = [(piece, piece.sample[values.name]) for piece in values.pieces]
    counts = [0 if value is None else _n_rows(value) for _, value in given]
    # No images, for example: None, or an empty list, which has no shape.
    some = [(piece, value) for (piece, value), n_rows in zip(given, counts, strict=True) if n_rows]
    # An empty array has a shape all the same.
    examples = (*(value for _, value in given), values.example)
    example = next((value for value in examples if hasattr(value, "shape")), None)
    if example is None and values.example is not None and _n_rows(values.example):
        example = values.example
    tensors, like = _checked(values, some, example, 1)
    made_counts = torch.tensor(counts, dtype=torch.int64)
    return {values.name: torch.cat([like, *tensors]), f"{values.name}_counts": made_counts}


def _make_stack(values: _Values) -> dict[str, Any]:
    given = [(piece, piece.sample[values.name]) for piece in values.pieces]
    tensors, like = _checked(values, given, values.example, 0)
    return {values.name: torch.cat([like[None][:0], *(tensor[None] for tensor in tensors)])}


def _make_kept(values: _Values) -> dict[str, Any]:
    return {values.name: [piece.sample[values.name] for piece in values.pieces]}


def _make_of_ones(values: _Values) -> dict[str, Any]:
    for piece in values.pieces:
        if values.name not in piece.sample:
            continue
        value = piece.sample[values.name]
        n_ones = _n_ones(value)
        if n_ones != piece.sample_tokens or _n_rows(value) != piece.sample_tokens:
            expected = f"{piece.sample_tokens} ones, one for each token, as samples come without padding"
            raise _mistake(values, piece, expected, _counted(n_ones, "ones", value))
    return {}


# ValueError for values that do not fit the rule.
_MAKE: dict[str, Callable[[_Values], dict[str, Any]]] = {
    "concatenate": _make_per_token,
    "concatenate_documents": _make_of_rows,
    "stack": _make_stack,
    "keep": _make_kept,
    "ones": _make_of_ones,
    "drop": lambda _: {},
}


def _checked(
    values: _Values, given: Sequence[tuple[_Piece, Any]], example: object, n_leading: int
) -> tuple[list[Tensor], Tensor]:
    """The values as tensors of one type, and one like them, of which the first `n_leading` dimensions are 0.

    ValueError where the other dimensions are not equal.
    """
    column = values.column
    dtype, shape = column.dtype, column.shape
    tensors: list[Tensor] = []
    for piece, value in given:
        tensor = _tensor(value)
        if tensor is None or tensor.dim() < n_leading:
            raise _mistake(values, piece, "numbers of one shape", described(value))
        dtype = tensor.dtype if dtype is None else dtype
        shape = tuple(tensor.shape[n_leading:]) if shape is None else tuple(shape)
        if tuple(tensor.shape[n_leading:]) != shape or (column.dtype is None and tensor.dtype != dtype):
            got = f"shape {tuple(tensor.shape[n_leading:])} of {tensor.dtype}"
            raise _mistake(values, piece, f"shape {shape} of {dtype}", got)
        tensors.append(tensor.to(dtype))
    of_example = None if example is None else _tensor(example)
    if of_example is not None:
        dtype = of_example.dtype if dtype is None else dtype
        shape = tuple(of_example.shape[n_leading:]) if shape is None else shape
    if dtype is None or shape is None:
        expected = "a Column with a dtype and a shape, as no sample of the pack has any"
        raise ValueError(f"columns[{values.name!r}]: expected {expected}, got none")
    return tensors, torch.zeros((0,) * n_leading + tuple(shape), dtype=dtype)


def _mistake(values: _Values, piece: _Piece, expected: str, got: str) -> ValueError:
    return ValueError(f"sample {piece.sample_index}: column {values.name!r}: expected {expected}, got {got}")


def _counted(count: int, of: str, value: object) -> str:
    return described(value) if count < 0 else f"{count} {of}: {described(value)}"


def _n_rows(value: Any) -> int:
    """-1 for what has no length."""
    try:
        return len(value)
    except TypeError:
        return -1


def _n_ones(value: Any) -> int:
    """Counts the ones in a row of numbers; -1 for what is none."""
    if isinstance(value, (list, tuple)):
        return value.count(1)  # a tenth of the time that a tensor takes
    tensor = _tensor(value)
    return -1 if tensor is None or tensor.dim() != 1 else int(tensor.eq(1).sum())


def _tensor(value: Any) -> Tensor | None:
    """None for what are no numbers of one shape. Types are those of `torch.as_tensor()`."""
    if isinstance(value, Tensor):
        return value.detach().cpu()
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.copy()
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None
