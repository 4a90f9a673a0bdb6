"""Which measurer a tokenizer needs, and what identifies it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from packsim._optional import import_optional
from packsim.lengths.arrow_columns import Selection
from packsim.lengths.bad_rows import describe
from packsim.lengths.measurers import (
    CallableMeasurer,
    ColumnMeasurer,
    Measurer,
    TokenizerMeasurer,
    TransformersMeasurer,
)


def measurer_of(
    tokenize: Any, column: str | None, labels_column: str | None, batched: bool, add_special_tokens: bool
) -> tuple[Measurer | None, list[str]]:
    """The measurer, and what is wrong with the tokenizer."""
    mistakes = []
    measurer: Measurer | None = None
    if tokenize is None:
        measurer = ColumnMeasurer(Selection(column, labels_column, "tokens"))
    elif _is_tokenizers(tokenize):
        tokenizer = getattr(tokenize, "_tokenizer", tokenize)  # of tokenizers.implementations
        mistakes += _setting_mistakes(tokenizer)
        measurer = TokenizerMeasurer(tokenizer, column, add_special_tokens)
    elif _is_transformers(tokenize):
        measurer = TransformersMeasurer(tokenize, column, add_special_tokens)
    elif callable(tokenize):
        measurer = CallableMeasurer(tokenize, column, batched)
        if not add_special_tokens:
            mistakes.append(
                "add_special_tokens: expected True for a function, which decides itself, got False"
            )
    else:
        mistakes.append(f"tokenize: expected a tokenizer, a function or None, got {describe(tokenize)}")
    if labels_column is not None and tokenize is not None:
        mistakes.append("labels_column: expected None unless tokenize is None, as labels belong to token ids")
    if batched and not isinstance(measurer, CallableMeasurer):
        mistakes.append("batched: expected False unless tokenize is a function, got True")
    return measurer, mistakes


def identity_of(measurer: Measurer) -> str | None:
    """A text that no tokenizer with other results has; None where nothing tells.

    A function may do anything, and its name and code do not say what it calls.
    """
    if isinstance(measurer, ColumnMeasurer):
        return "column"
    if isinstance(measurer, TransformersMeasurer):
        return _transformers_identity(measurer)
    if isinstance(measurer, TokenizerMeasurer):
        return _tokenizers_identity(measurer.tokenizer, measurer.add_special_tokens)
    return None


def _is_tokenizers(tokenize: Any) -> bool:
    return all(hasattr(tokenize, name) for name in ("encode_batch", "to_str", "no_padding"))


def _is_transformers(tokenize: Any) -> bool:
    return callable(tokenize) and all(
        hasattr(tokenize, name) for name in ("model_input_names", "all_special_tokens", "init_kwargs")
    )


def _setting_mistakes(tokenizer: Any) -> list[str]:
    """Settings that would cut or stretch lengths, or draw them."""
    mistakes = []
    if tokenizer.truncation is not None:
        length = tokenizer.truncation.get("max_length")
        mistakes.append(
            f"tokenize: expected a tokenizer that does not truncate, got one that does at {length} tokens; "
            "call its no_truncation()"
        )
    if tokenizer.padding is not None:
        mistakes.append(
            "tokenize: expected a tokenizer that does not pad, got one that does; call its no_padding()"
        )
    if getattr(tokenizer.model, "dropout", None):
        mistakes.append(
            f"tokenize: expected no dropout, got {tokenizer.model.dropout}: lengths would be random"
        )
    return mistakes


def _tokenizers_identity(tokenizer: Any, add_special_tokens: bool) -> str | None:
    version = import_optional("tokenizers", "a tokenizers.Tokenizer").__version__
    try:
        settings = json.loads(tokenizer.to_str())
    except Exception:  # parts of it written in Python have no text
        return None
    # Nothing is truncated or padded here; transformers changes these two whenever it is called.
    text = json.dumps(settings | {"truncation": None, "padding": None})
    return f"tokenizers {version} {add_special_tokens} {hashlib.sha256(text.encode()).hexdigest()}"


def _transformers_identity(measurer: TransformersMeasurer) -> str | None:
    """Only of fast tokenizers that come with the package: other classes may do anything."""
    tokenizer = measurer.tokenizer
    kind = type(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or kind.__module__.partition(".")[0] != "transformers":
        return None
    text = _tokenizers_identity(backend, measurer.add_special_tokens)
    version = import_optional("transformers", "a transformers tokenizer").__version__
    split = getattr(tokenizer, "split_special_tokens", None)
    return None if text is None else f"transformers {version} {kind.__qualname__} {split} {text}"
