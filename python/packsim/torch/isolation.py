"""Whether documents of a packed row see each other in a model, and how to call it so that they do not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.module import register_module_forward_hook

from packsim.torch.attention_masks import document_mask
from packsim.torch.attention_routes import (
    AttentionRoute,
    attention_routes,
    sliding_window_tokens,
    text_config,
    unwrapped,
)
from packsim.torch.packed_batch import PackedBatch

# A Forward takes the model and a packed batch to its logits, or to what has them as `logits`.
Forward = Callable[[nn.Module, Any], Any]

# The documents of the batch that a check makes. A document that is longer than the window is added to them.
_LENGTHS_TOKENS = (7, 3, 11, 1, 5)
_LONGEST_WINDOW_TOKENS = 8192  # that a check goes beyond
# Logits of documents that see each other differ by several percent, and often by more than their own size.
_TOLERANCE = 1e-5
_TOLERANCE_OF_16_BITS = 0.02  # where the same numbers are computed: only one document has changed
_TOLERANCE_OF_16_BITS_ALONE = 0.1  # where each document is computed on its own


@dataclass(frozen=True)
class _Probe:
    documents: list[Tensor]  # token ids
    n_words: int

    def with_changed(self, index: int) -> list[Tensor]:
        """Every token of that document is another one."""
        changed = list(self.documents)
        changed[index] = (changed[index] + 1) % self.n_words
        return changed


class IsolationError(ValueError):
    """Documents of a packed row see each other: gradients would be wrong, and the loss hardly shows it."""


def attention_inputs(batch: Mapping[str, Any], model: nn.Module) -> dict[str, Any]:
    """The keyword arguments with which a model keeps the documents of a batch apart.

    The first call for a model tries the ways that there are on a few tokens, cheapest first, and keeps the
    first that gives the logits of documents on their own: positions, what FlashAttention needs, or a mask.
    Call the model with what is returned alone: a cache (`use_cache`) or another mask would undo it.

    Parameters
    ----------
    batch : mapping
        Of a PackCollator, on the device of the model.
    model : nn.Module
        Of transformers, or with a `forward(input_ids, position_ids, cu_seqlens)`; perhaps inside
        DistributedDataParallel or FSDP.

    Returns
    -------
    dict
        `input_ids`, `position_ids`, and what else the model needs.

    Raises
    ------
    IsolationError
        Where no way works, with what came of each; and where the batch has an `attention_mask` of one number
        for each token. Other masks are passed on: `check_isolation(model, batch)` looks into them.
    """
    refuse_plain_mask(batch)
    if "attention_mask" in batch or "cu_seqlens" not in batch:  # rows of one document each have one
        return _inputs(model, batch) | {"attention_mask": batch["attention_mask"]}
    return _inputs(model, batch) | _route_of(model).inputs(batch)


def _inputs(model: nn.Module, batch: Mapping[str, Any]) -> dict[str, Any]:
    inputs = {"input_ids": batch["input_ids"], "position_ids": batch["position_ids"]}
    if text_config(model) is not None:
        inputs["use_cache"] = False  # with a cache, transformers does not look at where positions begin again
    return inputs


def refuse_plain_mask(batch: Mapping[str, Any]) -> None:
    """IsolationError where a packed batch has an attention mask of one number for each token.

    Models of transformers take documents apart by positions only where there is none: with a mask of ones all
    tokens of the row are one document.
    """
    mask = batch.get("attention_mask")
    if "cu_seqlens" in batch and isinstance(mask, Tensor) and mask.dim() == 2:
        raise IsolationError(
            "attention_mask: expected none beside a packed row, or one of shape (1, 1, n_tokens, n_tokens), "
            f"got one of shape {tuple(mask.shape)}: with it, documents of a row see each other; leave it out"
        )


def check_isolation(
    model: nn.Module,
    batch: Mapping[str, Any] | None = None,
    *,
    forward: Forward | None = None,
    gradients: bool = False,
    tolerance: float | None = None,
) -> None:
    """Fail unless the documents of a packed row are as good as alone in this model.

    A row of a few short documents (and one longer than the model's sliding window) goes through the model.
    Then one document changes: the logits of no other may move. Then each goes through alone: its logits must
    be the same. The model's mode, gradients and random numbers stay as they were. On several processes, all
    must call it.

    Parameters
    ----------
    model : nn.Module
        Perhaps inside DistributedDataParallel or FSDP.
    batch : mapping, optional
        The first one of a training loop: it is looked through for a mask and positions that let documents see
        each other, and says on which device the model is fed.
    forward : callable, optional
        `forward(model, batch)` calls the model as the training loop does; by default with
        `attention_inputs()`.
    gradients : bool
        Compare the gradients of the row with those of its documents alone, too. Not with sharded parameters.
    tolerance : float, optional
        Relative difference allowed, of logits and of gradients; by default 1e-5, and for models in 16 bits
        0.02 where one document has changed and 0.1 where each is alone.

    Raises
    ------
    IsolationError
        With what was different, and by how much.
    ValueError
        Where the size of the vocabulary cannot be found.
    """
    if batch is not None:
        refuse_plain_mask(batch)
        _check_mask(batch)
        _check_positions(batch)
    call = forward or _call
    probe = _probe(model, batch)
    with at_rest(model, _has_dropout(model)):
        with torch.no_grad():
            message = _difference(model, call, probe, tolerance)
        if not message and gradients:
            message = _gradient_difference(model, call, probe.documents, tolerance)
    if message:
        raise IsolationError(f"{message}. See docs/isolation.md for what to pass to the model")


_routes: WeakKeyDictionary[nn.Module, tuple[str | None, AttentionRoute]] = WeakKeyDictionary()


def _route_of(model: nn.Module) -> AttentionRoute:
    """The first that works, found once for a model and its attention implementation."""
    inner = unwrapped(model)
    implementation = getattr(text_config(model), "_attn_implementation", None)
    known = _routes.get(inner)
    if known is None or known[0] != implementation:
        known = _routes[inner] = implementation, _working_route(model)
    return known[1]


def _working_route(model: nn.Module) -> AttentionRoute:
    probe = _probe(model, None)
    tried = []
    with at_rest(model, _has_dropout(model)), torch.no_grad():
        for route in attention_routes(model):
            try:
                message = _difference(model, _called_by(route), probe, None)
            except Exception as error:  # a model may refuse what it does not know in any way
                message = f"{type(error).__name__}: {error}"
            if not message:
                return route
            tried.append(f"{route.name}: {message}")
    name = type(unwrapped(model)).__name__
    raise IsolationError(
        f"{name}: expected a way to keep the documents of a packed row apart, got none "
        f"({_versions(model)}):\n  " + "\n  ".join(tried)
    )


def _called_by(route: AttentionRoute) -> Forward:
    return lambda model, batch: model(**_inputs(model, batch), **route.inputs(batch))


def _call(model: nn.Module, batch: Mapping[str, Any]) -> Any:
    return model(**attention_inputs(batch, model))


def _call_plainly(model: nn.Module, batch: Mapping[str, Any]) -> Any:
    """A row of one document: all that a model of transformers needs, its own window and positions."""
    return model(input_ids=batch["input_ids"], use_cache=False)


def _logits(model: nn.Module, forward: Forward, batch: Mapping[str, Any]) -> Tensor:
    """Shape (n_tokens, n_words)."""
    found = forward(model, batch)
    logits: Tensor = found if isinstance(found, Tensor) else found.logits
    return logits[0].double()


def _difference(model: nn.Module, forward: Forward, probe: _Probe, tolerance: float | None) -> str:
    """What is wrong with the logits; nothing where nothing is."""
    documents = probe.documents
    forward_alone = _call_plainly if text_config(model) is not None else forward
    lengths_tokens = [len(document) for document in documents]
    with _seen_dtypes() as dtypes:
        logits = _logits(model, forward, _packed(documents)).split_with_sizes(lengths_tokens)
    of_change, alone = _tolerances(dtypes, tolerance)
    for changed in (0, len(documents) // 2):
        moved = _logits(model, forward, _packed(probe.with_changed(changed))).split_with_sizes(lengths_tokens)
        for index in range(len(documents)):
            error = _relative(moved[index], logits[index])
            if index != changed and not error <= of_change:
                return (
                    f"document {index} of a packed row: expected logits that do not depend on document "
                    f"{changed}, got a change of {error:.1%}: it sees other documents"
                )
    for index, document in enumerate(documents):
        error = _relative(logits[index], _logits(model, forward_alone, _packed([document])))
        if not error <= alone:
            return (
                f"document {index} of a packed row, of {len(document)} tokens: expected the logits that "
                f"it has alone, got a difference of {error:.1%}: wrong positions, or a sliding window that "
                "is not there"
            )
    return ""


def _gradient_difference(
    model: nn.Module, forward: Forward, documents: list[Tensor], tolerance: float | None
) -> str:
    inner = unwrapped(model)
    parameters = [parameter for parameter in inner.parameters() if parameter.requires_grad]
    if any(hasattr(parameter, "placements") for parameter in parameters):
        raise ValueError("gradients: expected a model whose processes have all parameters, got a sharded one")

    def gradients(call: Forward, rows: list[list[Tensor]]) -> list[Tensor]:
        sums = [torch.zeros_like(parameter, dtype=torch.float64) for parameter in parameters]
        for row in rows:
            loss = _loss(_logits(inner, call, _packed(row)), row)
            for total, part in zip(
                sums, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True
            ):
                if part is not None:
                    total += part
        return sums

    forward_alone = _call_plainly if text_config(inner) is not None else forward
    with _seen_dtypes() as dtypes:
        packed = gradients(forward, [documents])
    alone = gradients(forward_alone, [[document] for document in documents if len(document) > 1])
    norm = sum(float(part.norm()) ** 2 for part in alone) ** 0.5
    error = (
        sum(float((one - other).norm()) ** 2 for one, other in zip(packed, alone, strict=True)) ** 0.5 / norm
    )
    if error <= _tolerances(dtypes, tolerance)[1]:
        return ""
    return (
        f"gradients of a packed row: expected those of its documents alone, got a difference of {error:.1%}"
    )


def _loss(logits: Tensor, documents: list[Tensor]) -> Tensor:
    """Summed up; no document predicts the first token of the next."""
    losses = [
        functional.cross_entropy(part[:-1], document[1:], reduction="sum")
        for part, document in zip(
            logits.split_with_sizes([len(document) for document in documents]), documents, strict=True
        )
        if len(document) > 1
    ]
    return torch.stack(losses).sum()


def _packed(documents: list[Tensor]) -> PackedBatch:
    ids = torch.cat(documents)[None]
    lengths_tokens = torch.tensor([len(document) for document in documents])
    positions = torch.cat([torch.arange(len(document)) for document in documents])[None]
    cu_seqlens = functional.pad(lengths_tokens.cumsum(0), (1, 0)).to(torch.int32)
    values = {
        "input_ids": ids,
        "position_ids": positions.to(ids.device),
        "cu_seqlens": cu_seqlens.to(ids.device),
    }
    return PackedBatch(values | {"max_seqlen": int(lengths_tokens.max())})


def _probe(model: nn.Module, batch: Mapping[str, Any] | None) -> _Probe:
    n_words = _n_words(model, batch)
    lengths_tokens = list(_LENGTHS_TOKENS)
    window_tokens = sliding_window_tokens(model)
    if window_tokens is not None and window_tokens <= _LONGEST_WINDOW_TOKENS:
        lengths_tokens.insert(1, window_tokens + 5)
    device = device_of(model) if batch is None else batch["input_ids"].device
    ids = torch.arange(sum(lengths_tokens), device=device) * 7919 + 11
    return _Probe(list((ids % n_words).split_with_sizes(lengths_tokens)), n_words)


def _n_words(model: nn.Module, batch: Mapping[str, Any] | None) -> int:
    found = getattr(text_config(model), "vocab_size", None)
    if found is None:
        embeddings = (part for part in model.modules() if isinstance(part, nn.Embedding))
        found = getattr(next(embeddings, None), "num_embeddings", None)
    if found is None and batch is not None:
        found = int(batch["input_ids"].max()) + 1
    if found is None:
        raise ValueError("model: expected config.vocab_size, an nn.Embedding, or a batch beside it, got none")
    return int(found)


def _check_positions(batch: Mapping[str, Any]) -> None:
    if "cu_seqlens" not in batch:
        return
    cu_seqlens, positions = batch["cu_seqlens"].long(), batch["position_ids"][0]
    starts = cu_seqlens[:-1][cu_seqlens.diff() > 0]
    late = torch.nonzero(positions[starts] != 0).flatten().tolist()
    if late:
        at = int(starts[late[0]])
        raise IsolationError(
            f"position_ids: expected 0 at token {at}, where a document begins, got "
            f"{int(positions[at])}: models take documents apart by positions that begin again"
        )


def _check_mask(batch: Mapping[str, Any]) -> None:
    """IsolationError where a mask of pairs of tokens lets documents see each other."""
    mask = batch.get("attention_mask")
    if "cu_seqlens" not in batch or not isinstance(mask, Tensor):
        return
    attends = mask if mask.dtype == torch.bool else mask == 0
    leaks = attends & ~document_mask(batch["cu_seqlens"])
    if leaks.any():
        *_, query, key = leaks.nonzero()[0].tolist()
        raise IsolationError(
            "attention_mask: expected tokens to see none but those of their document up to themselves, got "
            f"one in which token {query} sees token {key}"
        )


def _relative(values: Tensor, expected: Tensor) -> float:
    return float((values - expected).norm() / expected.norm())


def _tolerances(dtypes: set[torch.dtype], tolerance: float | None) -> tuple[float, float]:
    """Where one document has changed, and where each is alone, in a model that computes in these types."""
    if tolerance is not None:
        return tolerance, tolerance
    in_16_bits = any(dtype.is_floating_point and dtype.itemsize <= 2 for dtype in dtypes)
    return (_TOLERANCE_OF_16_BITS, _TOLERANCE_OF_16_BITS_ALONE) if in_16_bits else (_TOLERANCE, _TOLERANCE)


@contextmanager
def _seen_dtypes() -> Iterator[set[torch.dtype]]:
    """Types of what modules compute meanwhile: under autocast, inside a wrapper too, not the parameters'."""
    seen: set[torch.dtype] = set()

    def see(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            seen.add(output.dtype)

    handle = register_module_forward_hook(see)
    try:
        yield seen
    finally:
        handle.remove()


def _versions(model: nn.Module) -> str:
    implementation = getattr(text_config(model), "_attn_implementation", None)
    if implementation is None:
        return f"torch {torch.__version__}"
    import transformers

    return f"transformers {transformers.__version__}, attention {implementation}"


@contextmanager
def at_rest(model: nn.Module | None, evaluates: bool = True) -> Iterator[None]:
    """Runs in the mode of evaluation, or the model's own; modes and random numbers come back."""
    parts = [] if model is None else [(part, part.training) for part in model.modules()]
    parameters = [] if model is None else list(model.parameters())
    devices = {parameter.device.index or 0 for parameter in parameters if parameter.device.type == "cuda"}
    # A data set may draw random numbers when it is read.
    of_python, of_numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=sorted(devices)):
        try:
            if model is not None and evaluates:
                model.eval()
            yield
        finally:
            for part, was_training in parts:
                part.training = was_training
            random.setstate(of_python)
            np.random.set_state(of_numpy)


def device_of(model: nn.Module | None, device: torch.device | str | int | None = None) -> torch.device:
    """Returns the given device, else that of the model's parameters, else the CPU."""
    if device is not None:
        return torch.device(device)
    parameters: Iterator[Tensor] = iter(()) if model is None else model.parameters()
    return next((parameter.device for parameter in parameters), torch.device("cpu"))


def _has_dropout(model: nn.Module) -> bool:
    # Attention of transformers takes its share of dropout from the config.
    of_attention = getattr(text_config(model), "attention_dropout", 0.0)
    return bool(of_attention) or any(isinstance(part, nn.Dropout) and part.p > 0 for part in model.modules())
