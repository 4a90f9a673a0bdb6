"""Tokens in what a tokenizer returned for one sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packsim._loss_spans import IGNORE_INDEX
from packsim.lengths.bad_rows import describe
from packsim.lengths.result import LONGEST_TOKENS


class Unmeasurable(ValueError):
    """A value that has no length: what was expected, and what came."""

    def __init__(self, expected: str, got: str) -> None:
        super().__init__(expected, got)
        self.expected = expected
        self.got = got


def token_counts(result: Any) -> tuple[int, NDArray[np.bool_] | None]:
    """Length of a sample in tokens, and where it has labels, which of its tokens have loss.

    Parameters
    ----------
    result : Any
        Token ids, a length, or a mapping with `input_ids` and perhaps `labels`.

    Raises
    ------
    Unmeasurable
        For anything else, a length out of range, or labels that are not one a token.
    """
    if not isinstance(result, Mapping):
        return _in_range(_length(result)), None
    if "input_ids" not in result:
        raise Unmeasurable("a mapping with input_ids", describe(result))
    length_tokens = _in_range(_length(result["input_ids"]))
    labels = result.get("labels")
    return length_tokens, None if labels is None else loss_mask(labels, length_tokens)


def loss_mask(labels: Any, length_tokens: int) -> NDArray[np.bool_]:
    """Shape (length_tokens,): the labels other than -100. There is one a token."""
    if isinstance(labels, Mapping) or _length(labels) != length_tokens or _is_integer(labels):
        raise Unmeasurable(f"{length_tokens} labels", describe(labels))
    values = np.asarray(labels)
    if len(values) and values.dtype.kind not in "iu":
        raise Unmeasurable("integers as labels", describe(labels))
    mask: NDArray[np.bool_] = values != IGNORE_INDEX
    return mask


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _length(ids: Any) -> int:
    if _is_integer(ids):
        return int(ids)
    ids = getattr(ids, "ids", ids)  # of a tokenizers.Encoding
    n_dimensions = getattr(ids, "ndim", None)
    if n_dimensions is None and isinstance(ids, Sequence) and not isinstance(ids, (str, bytes)):
        # [[1, 2, 3]] is a batch of one sample, not a sample of one token.
        first = ids[0] if len(ids) else 0
        is_nested = hasattr(first, "__len__") and not isinstance(first, (str, bytes)) or hasattr(first, "ids")
        n_dimensions = 2 if is_nested else 1
    if n_dimensions != 1:
        raise Unmeasurable("a list of token ids, a length, or a mapping with input_ids", describe(ids))
    return len(ids)


def _in_range(length_tokens: int) -> int:
    if not 0 <= length_tokens <= LONGEST_TOKENS:
        raise Unmeasurable(f"0 to {LONGEST_TOKENS} tokens", str(length_tokens))
    return length_tokens
