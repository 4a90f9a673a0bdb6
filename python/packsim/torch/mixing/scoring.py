"""How hard samples are, by a model: scores that groups of a mixture are made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from packsim._arguments import Problems
from packsim._lengths_array import LengthsLike, as_lengths
from packsim._loss_spans import IGNORE_INDEX
from packsim._whole_file import write_whole
from packsim.torch.collator import MOST_MISTAKES, CollatorRules, PackCollator, _ids_and_labels
from packsim.torch.dataset import MapStyleDataset, check_map_style
from packsim.torch.isolation import at_rest, device_of
from packsim.torch.mixing.probe_model import fingerprint
from packsim.torch.mixing.probes import MOST_TOKENS, Forward, Prober, rows_of
from packsim.torch.mixing.score_cache import ScoreCache
from packsim.torch.packed_batch import PackedBatch


@dataclass(frozen=True)
class _Documents:
    """A sample whole, with labels for its response, and its response alone."""

    whole: dict[str, NDArray[np.int64]]
    alone: dict[str, NDArray[np.int64]]


def ifd_scores(
    model: nn.Module | Callable[[PackedBatch], Any],
    dataset: MapStyleDataset,
    *,
    lengths_tokens: LengthsLike,
    capacity_tokens: int,
    prompt_tokens: ArrayLike | None = None,
    start_token_id: int | None = None,
    over_long: Literal["own_row", "truncate"] = "own_row",
    without_response: Literal["error", "nan"] = "error",
    cache: str | os.PathLike[str] | None = None,
    model_name: str | None = None,
    chunk_samples: int = 4096,
    forward: Forward | None = None,
    device: torch.device | str | int | None = None,
) -> NDArray[np.float64]:
    """Instruction-following difficulty: the perplexity of a response given its prompt, beside that alone.

    Near 0 where the prompt says it all, near 1 where it does not help, above 1 where it misleads. HBO sorts
    samples by it, with a small model (Superfiltering, arXiv 2402.00530).

    Samples go through the model in packed rows, in which none sees another.

    Parameters
    ----------
    model : nn.Module or callable
        A causal model, of transformers or one that `attention_inputs()` can call; or a function from a
        PackedBatch to logits, which keeps documents apart by itself.
    dataset
        Map-style; samples as PackCollator takes them.
    lengths_tokens : array_like of int
        Of all samples.
    capacity_tokens : int
        Of the rows.
    over_long : {"own_row", "truncate"}
        What becomes of longer samples: a row of their own, or they end behind `capacity_tokens`.
    prompt_tokens : array_like of int, optional
        Of each sample, the tokens before its response. By default the response is what the sample's labels
        do not ignore (-100); where it is in several places, it is alone when these are joined.
    start_token_id : int, optional
        Goes before the response alone, such as the BOS of tokenizers that add one, so that its first token
        has a loss there, too. Without it the response alone has one token less with loss.
    without_response : {"error", "nan"}
        What becomes of samples without a response, or with one too short to have a loss alone.
    cache : path, optional
        A `.npz` file that keeps finished chunks: an interrupted call goes on there, and a chunk of other
        samples, or of another model, is scored anew.
    model_name : str, optional
        What the cache knows a function by.
    chunk_samples : int
    forward : callable, optional
        `forward(model, batch)` gives logits; by default `model(**attention_inputs(batch, model))`.
    device : optional
        By default that of the model's parameters.

    Returns
    -------
    ndarray of float64, shape (n_samples,)

    Raises
    ------
    ValueError
        For wrong arguments, and for samples that are not as long as said or without a response: all of them,
        before any is scored.
    """
    check_map_style(dataset)
    with Problems() as problems:
        capacity = problems.integer("capacity_tokens", capacity_tokens, 1, MOST_TOKENS)
        chunk = problems.integer("chunk_samples", chunk_samples, 1, MOST_TOKENS)
        truncates = problems.word("over_long", over_long, ("own_row", "truncate")) == "truncate"
        policy = problems.word("without_response", without_response, ("error", "nan"))
        start = None
        if start_token_id is not None:
            start = problems.integer("start_token_id", start_token_id, 0, MOST_TOKENS)
        module = model if isinstance(model, nn.Module) else None
        if cache is not None and module is None and not model_name:
            problems.add("model_name: expected a name, by which the cache knows a function, got none")
    lengths = as_lengths(lengths_tokens)
    prompts = None if prompt_tokens is None else as_lengths(prompt_tokens, "prompt_tokens")
    with Problems() as problems:
        for name, array in (("lengths_tokens", lengths), ("prompt_tokens", prompts)):
            if array is not None and len(array) != len(dataset):
                problems.add(f"{name}: expected one for each of {len(dataset)} samples, got {len(array)}")

    samples = _Samples(
        dataset,
        lengths,
        prompts,
        [] if start is None else [start],
        most_tokens=capacity if truncates else MOST_TOKENS,
        may_lack_response=policy == "nan",
    )
    chunks = [range(begin, min(begin + chunk, len(dataset))) for begin in range(0, len(dataset), chunk)]
    name = model_name or ""
    if cache is not None and module is not None:
        name += fingerprint(module)
    keys = samples.checked(chunks, f"{name}|{start}")
    kept = ScoreCache(cache, keys, [len(part) for part in chunks])
    with at_rest(module):
        for place, part in enumerate(chunks):
            if kept.chunks[place] is None:
                documents = [samples.documents(index) for index in part]
                kept.add(place, _scores(model, documents, capacity, forward, device_of(module, device)))
    done = [scores for scores in kept.chunks if scores is not None]
    return np.concatenate([np.zeros(0), *done])


def write_score_column(
    path: str | os.PathLike[str], lengths_tokens: LengthsLike, scores: ArrayLike, column: str = "ifd"
) -> None:
    """A length file for scenarios, with the score of each sample beside its length: CSV of `tokens,ifd`.

    Raises
    ------
    ValueError
        Unless there is a finite score for each length.
    """
    lengths, values = as_lengths(lengths_tokens), np.asarray(scores, dtype=np.float64)
    with Problems() as problems:
        if not column.isidentifier() or column == "tokens":
            problems.add(f"column: expected a word other than tokens, got {column!r}")
        if values.shape != lengths.shape:
            problems.add(f"scores: expected shape {lengths.shape}, one for each length, got {values.shape}")
        elif not np.isfinite(values).all():
            _add_samples(
                problems, "scores: expected finite ones, got", np.flatnonzero(~np.isfinite(values)), values
            )
    rows = zip(lengths.tolist(), values.tolist(), strict=True)
    lines = [f"tokens,{column}", *(f"{tokens},{score!r}" for tokens, score in rows)]
    write_whole(path, ("\n".join(lines) + "\n").encode())


@dataclass(frozen=True, eq=False)
class _Samples:
    """The samples with what is prompt and what response in them."""

    dataset: MapStyleDataset
    lengths_tokens: NDArray[np.int32]
    prompt_tokens: NDArray[np.int32] | None
    start: list[int]  # the token that goes before a response alone, or none
    most_tokens: int
    may_lack_response: bool

    def checked(self, chunks: Sequence[range], model_key: str) -> list[str]:
        """A key of each chunk, of its contents and the model's. ValueError for wrong samples, all at once."""
        of_other_length: list[int] = []
        without_response: list[int] = []
        keys = []
        for chunk in chunks:
            digest = hashlib.blake2b(model_key.encode(), digest_size=16)
            for sample in chunk:
                ids, labels = self._ids_and_labels(sample)
                if len(ids) != self.lengths_tokens[sample] or len(labels) != len(ids):
                    of_other_length.append(sample)
                    continue
                ids, labels = ids[: self.most_tokens], labels[: self.most_tokens]
                documents = self._made(ids, labels)
                if not (_n_losses(documents.whole) and _n_losses(documents.alone)):
                    without_response.append(sample)
                digest.update(f"|{len(ids)}:".encode() + ids.tobytes() + labels.tobytes())
            keys.append(digest.hexdigest())
        with Problems() as problems:
            if of_other_length:
                what = "dataset: expected as many tokens and labels as lengths_tokens says, got others:"
                _add_samples(problems, what, of_other_length)
            if without_response and not self.may_lack_response:
                least = 1 if self.start else 2
                what = f"dataset: expected a prompt and a response of at least {least} tokens, got others:"
                _add_samples(problems, what, without_response)
        return keys

    def documents(self, sample: int) -> _Documents:
        ids, labels = self._ids_and_labels(sample)
        return self._made(ids[: self.most_tokens], labels[: self.most_tokens])

    def _ids_and_labels(self, sample: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Labels are -100 for what is no response."""
        found, given = _ids_and_labels(self.dataset[sample])
        ids = np.asarray([] if found is None else found, dtype=np.int64)
        if self.prompt_tokens is None:
            return ids, ids if given is None else np.asarray(given, dtype=np.int64)
        labels = ids.copy()
        labels[: self.prompt_tokens[sample]] = IGNORE_INDEX
        return ids, labels

    def _made(self, ids: NDArray[np.int64], labels: NDArray[np.int64]) -> _Documents:
        response = ids[labels != IGNORE_INDEX]
        alone = np.concatenate([np.array(self.start, dtype=np.int64), response])
        return _Documents({"input_ids": ids, "labels": labels}, {"input_ids": alone, "labels": alone})


def _n_losses(document: dict[str, NDArray[np.int64]]) -> int:
    return int((document["labels"][1:] != IGNORE_INDEX).sum())


def _scores(
    model: Any, documents: Sequence[_Documents], capacity: int, forward: Forward | None, device: torch.device
) -> NDArray[np.float64]:
    """NaN where the whole or the response alone has no loss."""
    dataset = [document.whole for document in documents] + [document.alone for document in documents]
    lengths = np.array([len(document["input_ids"]) for document in dataset], dtype=np.int32)
    collator = PackCollator(CollatorRules(), check_loss_tokens=False)
    prober = Prober(model, dataset, lengths, collator=collator, device=device, forward=forward)
    losses = np.full(len(dataset), np.nan)
    for row in rows_of(np.arange(len(lengths)), lengths, capacity):
        found, has_loss = prober.mean_losses(row)
        losses[row] = np.where(has_loss, found, np.nan)
    of_whole, of_alone = losses[: len(documents)], losses[len(documents) :]
    scores: NDArray[np.float64] = np.exp(of_whole - of_alone)
    return scores


def _add_samples(
    problems: Problems, what: str, samples: Sequence[int] | NDArray[Any], values: Any = None
) -> None:
    """One line with the first of them, and how many there are."""
    shown = [
        f"sample {sample}" if values is None else f"{values[sample]} at sample {sample}"
        for sample in list(samples)[:MOST_MISTAKES]
    ]
    more = f" and {len(samples) - MOST_MISTAKES} more" if len(samples) > MOST_MISTAKES else ""
    problems.add(f"{what} {', '.join(shown)}{more}")
