"""The tensors of a micro-batch are made from its samples here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from packsim._arguments import Problems, described
from packsim._iterations import Iterations
from packsim._loss_spans import IGNORE_INDEX
from packsim._micro_batch import MicroBatch
from packsim._strategies import find_strategy
from packsim.torch.columns import Column, ColumnRules
from packsim.torch.dataset import FetchedPack
from packsim.torch.packed_batch import PackedBatch

MOST_MISTAKES = 10  # that one error shows


@dataclass(frozen=True)
class CollatorRules:
    """What a collator needs to know of a plan.

    Attributes
    ----------
    layout
        "packed": the samples of a pack are one row. "rows": a row each.
    padding, pad_multiple_tokens
        As `make_plan()` takes them.
    cuts_samples
        Samples may go on behind the tokens that a micro-batch trains.
    truncates_tokens
        Samples may go on behind so many tokens; 0: none may.
    """

    layout: str = "packed"
    padding: str = "none"
    pad_multiple_tokens: int = 1
    cuts_samples: bool = False
    truncates_tokens: int = 0

    @classmethod
    def of(cls, plan: Iterations) -> CollatorRules:
        strategy = find_strategy(plan.facts["strategy"])
        over_long = plan.facts["over_long"]
        longest_tokens = max(group.capacity_tokens for group in plan.groups)
        return cls(
            layout=strategy.layout,
            padding=plan.facts["padding"],
            pad_multiple_tokens=int(plan.facts["pad_multiple_tokens"]),
            cuts_samples=strategy.cuts_samples or over_long == "split",
            truncates_tokens=longest_tokens if over_long == "truncate" else 0,
        )


@dataclass(frozen=True)
class _Documents:
    """The pieces of a micro-batch one after another, but for those without tokens: attention knows none.

    Attributes
    ----------
    ids, labels : ndarray of int64, shape (n_tokens,)
    positions : ndarray of int64, shape (n_tokens,)
        From 0 in each document.
    weights : ndarray of float64, shape (n_tokens,)
        What the loss of each label is multiplied by.
    lengths_tokens : ndarray of int64, shape (n_documents,)
    """

    ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    positions: NDArray[np.int64]
    weights: NDArray[np.float64]
    lengths_tokens: NDArray[np.int64]


class PackCollator:
    """Makes the batch of a micro-batch; a DataLoader's `collate_fn` beside a PlanDataset.

    Samples are mappings with `input_ids`, perhaps with `labels` (else these are the ids), or plain sequences
    of ids: lists, arrays or tensors. The batch has

    ============== ============================================================================
    input_ids      int64, `pad_token_id` in padding
    labels         int64, not shifted, as Hugging Face models take them; `ignore_index` in padding
                   and for the first token of every document, which nothing may predict
    position_ids   int64, from 0 in each document; 0 in padding
    loss_weights   float32: what the loss of each label is multiplied by; 0 where it is ignored
    cu_seqlens     int32, shape (n_documents + 1,): where documents begin and end; padding at the
                   end is one more document. Of layout "packed"
    max_seqlen     int: the longest of them. Of layout "packed"
    attention_mask int64: 1 for tokens of the data. Of layout "rows"
    ============== ============================================================================

    in shape (1, n_tokens) for plans of layout "packed", (n_rows, longest) for "rows". An empty micro-batch is
    one document of padding without loss, so that forward and backward run as on the other processes.

    Other columns of the samples follow rules, and are beside these under their own names. A column without a
    rule is an error. Two need none: `attention_mask`, which must be all ones, and `token_type_ids`, which is
    concatenated. Documents are counted without padding, and without samples that have no tokens:

    ===================== =====================================================================
    concatenate           a value or array for each token: shape (1, n_tokens, ...), or
                          (n_rows, longest, ...); the rule's `fill` in padding
    concatenate_documents arrays of any length, as of the images of each document: (n_rows, ...),
                          and `NAME_counts`, int64, (n_documents,): how many are of each. None
                          and empty lists are no rows. The tokens of such samples cannot be cut
    stack                 a value or array for each document: (n_documents, ...)
    keep                  anything: a list, one for each document, also for parts of cut samples
    ones                  1 for each token, which is checked, and left out
    drop                  left out
    ===================== =====================================================================

    Parameters
    ----------
    plan : Plan, ShardedPlan or CollatorRules
    pad_token_id, ignore_index : int
    pad_to_multiple_of : int
        Tokens of a row become a multiple of it and of the GPUs that share the pack, beside what the plan's
        padding says.
    check_loss_tokens : bool
        Refuse samples whose labels are not as many as the plan was made with: their weights would be wrong.
    flash_attention_kwargs : bool
        Adds `cu_seqlens` and `max_seqlen` by the names that transformers has for them, cu_seq_lens_q,
        cu_seq_lens_k, max_length_q and max_length_k. Of layout "packed".
    columns : mapping of str to str or Column, optional
        The rules of columns beside `input_ids` and `labels`.
    """

    def __init__(
        self,
        plan: Iterations | CollatorRules,
        *,
        pad_token_id: int = 0,
        ignore_index: int = IGNORE_INDEX,
        pad_to_multiple_of: int = 1,
        check_loss_tokens: bool = True,
        flash_attention_kwargs: bool = False,
        columns: Mapping[str, str | Column] | None = None,
    ) -> None:
        with Problems() as problems:
            self.rules = plan if isinstance(plan, CollatorRules) else CollatorRules.of(plan)
            self.pad_token_id = problems.integer("pad_token_id", pad_token_id, 0, 2**31 - 1)
            self.ignore_index = problems.integer("ignore_index", ignore_index, -(2**31), 2**31 - 1)
            self.pad_to_multiple_of = problems.integer("pad_to_multiple_of", pad_to_multiple_of, 1, 2**31 - 1)
            self.check_loss_tokens = check_loss_tokens
            self.flash_attention_kwargs = flash_attention_kwargs
            self._columns = ColumnRules(columns, problems)

    def __call__(self, pack: FetchedPack) -> PackedBatch:
        """The batch.

        Raises
        ------
        ValueError
            For samples that are not those of the plan, and for columns that do not follow a rule: which, what
            was expected, what they have.
        """
        if not isinstance(pack, FetchedPack):
            raise TypeError(f"pack: expected what a PlanDataset fetches, got {type(pack).__name__}")
        documents = self._documents(pack)
        micro_batch = pack.micro_batch
        make = self._rows if self.rules.layout == "rows" else self._packed
        batch = self._columns.add_to(make(documents, micro_batch), pack, self.rules.layout)
        batch.is_last = micro_batch.is_last
        return batch

    def _packed(self, documents: _Documents, micro_batch: MicroBatch) -> PackedBatch:
        n_data_tokens = len(documents.ids)
        n_tokens = self._row_tokens(n_data_tokens, micro_batch)
        values = self._filled((1, n_tokens), documents, (0, slice(0, n_data_tokens)))
        lengths_tokens = documents.lengths_tokens.tolist()
        if n_tokens > n_data_tokens:
            lengths_tokens.append(n_tokens - n_data_tokens)
        cu_seqlens = torch.from_numpy(np.cumsum([0, *lengths_tokens], dtype=np.int32))
        longest_tokens = max(lengths_tokens)
        batch = PackedBatch(
            {name: torch.from_numpy(array) for name, array in values.items()},
            micro_batch=micro_batch,
            n_padding_tokens=n_tokens - n_data_tokens,
        )
        batch |= {"cu_seqlens": cu_seqlens, "max_seqlen": longest_tokens}
        if self.flash_attention_kwargs:
            batch |= {"cu_seq_lens_q": cu_seqlens, "cu_seq_lens_k": cu_seqlens}
            batch |= {"max_length_q": longest_tokens, "max_length_k": longest_tokens}
        return batch

    def _rows(self, documents: _Documents, micro_batch: MicroBatch) -> PackedBatch:
        lengths_tokens = documents.lengths_tokens
        row_tokens = self._row_tokens(int(lengths_tokens.max(initial=0)), micro_batch)
        shape = (max(len(lengths_tokens), 1), row_tokens)
        places = (np.repeat(np.arange(len(lengths_tokens)), lengths_tokens), documents.positions)
        values = self._filled(shape, documents, places)
        mask = np.zeros(shape, dtype=np.int64)
        mask[places] = 1
        return PackedBatch(
            {name: torch.from_numpy(array) for name, array in (values | {"attention_mask": mask}).items()},
            micro_batch=micro_batch,
            n_padding_tokens=mask.size - len(documents.ids),
        )

    def _filled(self, shape: tuple[int, int], documents: _Documents, places: Any) -> dict[str, NDArray[Any]]:
        """Arrays of this shape that are padding but at the places of the documents' tokens."""
        of_tokens: dict[str, tuple[Any, int, Any]] = {
            "input_ids": (documents.ids, self.pad_token_id, np.int64),
            "labels": (documents.labels, self.ignore_index, np.int64),
            "position_ids": (documents.positions, 0, np.int64),
            "loss_weights": (documents.weights, 0, np.float32),
        }
        values = {}
        for name, (tokens, padding, dtype) in of_tokens.items():
            array = values[name] = np.full(shape, padding, dtype=dtype)
            array[places] = tokens
        return values

    def _row_tokens(self, n_tokens: int, micro_batch: MicroBatch) -> int:
        if self.rules.padding == "capacity":
            n_tokens = max(n_tokens, micro_batch.group.capacity_tokens)
        if self.rules.padding == "multiple":
            n_tokens = _round_up(n_tokens, self.rules.pad_multiple_tokens)
        # There is at least one token: an empty micro-batch has padding alone.
        return _round_up(max(n_tokens, 1), math.lcm(micro_batch.group.n_gpus, self.pad_to_multiple_of))

    def _documents(self, pack: FetchedPack) -> _Documents:
        micro_batch = pack.micro_batch
        if len(pack) != len(micro_batch):
            raise ValueError(f"pack: expected {len(micro_batch)} samples, got {len(pack)}")
        # Mistakes stand under the place of their piece, as a sample may have several.
        mistakes: dict[int, str] = {}
        ids: list[NDArray[Any]] = []
        labels: list[NDArray[Any]] = []
        pieces = zip(micro_batch.starts_tokens.tolist(), micro_batch.tokens.tolist(), pack, strict=True)
        for place, (start, n_tokens, sample) in enumerate(pieces):
            piece, piece_labels, mistake = self._piece(sample, start, n_tokens)
            ids.append(piece)
            labels.append(piece_labels)
            if mistake:
                mistakes[place] = mistake
        lengths_tokens = np.array([len(piece) for piece in ids], dtype=np.int64)
        has_tokens = lengths_tokens > 0
        firsts = (np.cumsum(lengths_tokens) - lengths_tokens)[has_tokens]
        all_labels = _joined(labels)
        # What comes before a document in its row is another one, and must not predict it.
        all_labels[firsts] = self.ignore_index
        with_loss = all_labels != self.ignore_index
        if self.check_loss_tokens:
            found = np.zeros(len(ids), dtype=np.int64)
            found[has_tokens] = np.add.reduceat(with_loss, firsts, dtype=np.int64) if len(firsts) else 0
            for place in np.flatnonzero(found != micro_batch.loss_tokens).tolist():
                expected = f"expected {micro_batch.loss_tokens[place]} labels with loss"
                got = f"for which the plan has weights, got {found[place]}"
                text = f"{expected}, {got}; the first token of a document has none"
                mistakes.setdefault(place, text)
        with Problems() as problems:
            texts = [f"sample {micro_batch.samples[place]}: {mistakes[place]}" for place in sorted(mistakes)]
            problems.add_first(texts, MOST_MISTAKES)
        weights = np.repeat(micro_batch.token_weights(), lengths_tokens)
        positions = np.arange(len(all_labels)) - np.repeat(firsts, lengths_tokens[has_tokens])
        return _Documents(
            ids=_joined(ids),
            labels=all_labels,
            positions=positions,
            weights=np.where(with_loss, weights, 0.0),
            lengths_tokens=lengths_tokens[has_tokens],
        )

    def _piece(self, sample: object, start: int, n_tokens: int) -> tuple[NDArray[Any], NDArray[Any], str]:
        """Ids and labels of the piece, and what is wrong with them."""
        ids, labels = _ids_and_labels(sample)
        if ids is None:
            return _wrong(f"expected token ids, or a mapping with input_ids, got {described(sample)}")
        end = start + n_tokens
        may_be_longer = self.rules.cuts_samples or end == self.rules.truncates_tokens
        if len(ids) < end or (len(ids) > end and not may_be_longer):
            least = "at least " if may_be_longer else ""
            return _wrong(f"expected {least}{end} tokens, as when the plan was made, got {len(ids)}")
        if labels is not None and len(labels) != len(ids):
            return _wrong(f"expected {len(ids)} labels, one for each token, got {len(labels)}")
        piece = _as_array(ids[start:end])
        piece_labels = piece if labels is None else _as_array(labels[start:end])
        for what, values in (("token ids", piece), ("labels", piece_labels)):
            if values.ndim != 1 or (len(values) and values.dtype.kind not in "iu"):
                got = f"shape {values.shape} of {values.dtype}"
                return _wrong(f"expected one row of integers as {what}, got {got}")
        return piece, piece_labels, ""


_NO_TOKENS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def _wrong(mistake: str) -> tuple[NDArray[Any], NDArray[Any], str]:
    return _NO_TOKENS, _NO_TOKENS, mistake


def _joined(pieces: list[NDArray[Any]]) -> NDArray[np.int64]:
    """A copy; pieces without tokens may be of any type."""
    pieces = [piece for piece in pieces if len(piece)]
    return np.concatenate([_NO_TOKENS, *pieces], dtype=np.int64, casting="unsafe")


def _ids_and_labels(sample: Any) -> tuple[Any, Any]:
    """(ids, labels) as the sample has them; None for what it has not."""
    if isinstance(sample, Mapping):
        return sample.get("input_ids"), sample.get("labels")
    if isinstance(sample, (str, bytes)) or not hasattr(sample, "__len__"):
        return None, None
    return sample, None


def _as_array(values: Any) -> NDArray[Any]:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    try:
        return np.asarray(values)
    except ValueError:  # rows of several lengths
        return np.empty((0, 0), dtype=object)


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple
