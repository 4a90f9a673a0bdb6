"""From the samples of a micro-batch to its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from packsim._arguments import Problems, described
from packsim._micro_batch import MicroBatch
from packsim._schedulable import Schedulable
from packsim._strategies import find_strategy
from packsim.torch.columns import Column, ColumnRules
from packsim.torch.dataset import FetchedPack
from packsim.torch.packed_batch import PackedBatch

_MOST_MISTAKES = 10  # that one error shows


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
    def of(cls, plan: Schedulable) -> CollatorRules:
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
class _Document:
    """A piece of a sample; ids and labels have the same shape (n_tokens,)."""

    ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    weight: float


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
        plan: Schedulable | CollatorRules,
        *,
        pad_token_id: int = 0,
        ignore_index: int = -100,
        pad_to_multiple_of: int = 1,
        check_loss_tokens: bool = True,
        flash_attention_kwargs: bool = False,
        columns: Mapping[str, str | Column] | None = None,
    ) -> None:
        problems = Problems()
        self.rules = plan if isinstance(plan, CollatorRules) else CollatorRules.of(plan)
        self.pad_token_id = problems.integer("pad_token_id", pad_token_id, 0, 2**31 - 1)
        self.ignore_index = problems.integer("ignore_index", ignore_index, -(2**31), 2**31 - 1)
        self.pad_to_multiple_of = problems.integer("pad_to_multiple_of", pad_to_multiple_of, 1, 2**31 - 1)
        self.check_loss_tokens = check_loss_tokens
        self.flash_attention_kwargs = flash_attention_kwargs
        self._columns = ColumnRules(columns, problems)
        problems.raise_if_any()

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
        # A document without tokens is none for attention.
        documents = [document for document in documents if len(document.ids)]
        micro_batch = pack.micro_batch
        make = self._rows if self.rules.layout == "rows" else self._packed
        batch = self._columns.add_to(make(documents, micro_batch), pack, self.rules.layout)
        batch.is_last = micro_batch.is_last
        return batch

    def _packed(self, documents: list[_Document], micro_batch: MicroBatch) -> PackedBatch:
        lengths_tokens = [len(document.ids) for document in documents]
        n_data_tokens = sum(lengths_tokens)
        n_tokens = self._row_tokens(n_data_tokens, micro_batch)
        values = self._blank(1, n_tokens)
        begin = 0
        for document in documents:
            self._write(values, 0, begin, document)
            begin += len(document.ids)
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

    def _rows(self, documents: list[_Document], micro_batch: MicroBatch) -> PackedBatch:
        longest_tokens = max((len(document.ids) for document in documents), default=0)
        row_tokens = self._row_tokens(longest_tokens, micro_batch)
        values = self._blank(max(len(documents), 1), row_tokens)
        mask = np.zeros_like(values["input_ids"])
        for row, document in enumerate(documents):
            self._write(values, row, 0, document)
            mask[row, : len(document.ids)] = 1
        return PackedBatch(
            {name: torch.from_numpy(array) for name, array in (values | {"attention_mask": mask}).items()},
            micro_batch=micro_batch,
            n_padding_tokens=int(mask.size - mask.sum()),
        )

    def _blank(self, n_rows: int, row_tokens: int) -> dict[str, NDArray[Any]]:
        shape = (n_rows, row_tokens)
        return {
            "input_ids": np.full(shape, self.pad_token_id, dtype=np.int64),
            "labels": np.full(shape, self.ignore_index, dtype=np.int64),
            "position_ids": np.zeros(shape, dtype=np.int64),
            "loss_weights": np.zeros(shape, dtype=np.float32),
        }

    def _write(self, values: dict[str, NDArray[Any]], row: int, begin: int, document: _Document) -> None:
        place = (row, slice(begin, begin + len(document.ids)))
        values["input_ids"][place] = document.ids
        values["labels"][place] = document.labels
        values["position_ids"][place] = np.arange(len(document.ids))
        values["loss_weights"][place] = np.where(document.labels == self.ignore_index, 0.0, document.weight)

    def _row_tokens(self, n_tokens: int, micro_batch: MicroBatch) -> int:
        if self.rules.padding == "capacity":
            n_tokens = max(n_tokens, micro_batch.group.capacity_tokens)
        if self.rules.padding == "multiple":
            n_tokens = _round_up(n_tokens, self.rules.pad_multiple_tokens)
        # At least one token: an empty micro-batch has padding alone.
        return _round_up(max(n_tokens, 1), math.lcm(micro_batch.group.n_gpus, self.pad_to_multiple_of))

    def _documents(self, pack: FetchedPack) -> list[_Document]:
        micro_batch = pack.micro_batch
        if len(pack) != len(micro_batch):
            raise ValueError(f"pack: expected {len(micro_batch)} samples, got {len(pack)}")
        pieces = zip(
            micro_batch.samples.tolist(),
            micro_batch.starts_tokens.tolist(),
            micro_batch.tokens.tolist(),
            micro_batch.loss_tokens.tolist(),
            micro_batch.token_weights().tolist(),
            pack,
            strict=True,
        )
        documents: list[_Document] = []
        problems = Problems()
        n_mistakes = 0
        for index, start, n_tokens, n_loss_tokens, weight, sample in pieces:
            document, mistake = self._document(sample, start, n_tokens, n_loss_tokens, weight)
            documents.append(document)
            n_mistakes += bool(mistake)
            if mistake and n_mistakes <= _MOST_MISTAKES:
                problems.add(f"sample {index}: {mistake}")
        if n_mistakes > _MOST_MISTAKES:
            problems.add(f"and {n_mistakes - _MOST_MISTAKES} more")
        problems.raise_if_any()
        return documents

    def _document(
        self, sample: object, start: int, n_tokens: int, n_loss_tokens: int, weight: float
    ) -> tuple[_Document, str]:
        """The piece, and what is wrong with it."""
        ids, labels = _ids_and_labels(sample)
        if ids is None:
            return _NO_DOCUMENT, f"expected token ids, or a mapping with input_ids, got {described(sample)}"
        end = start + n_tokens
        may_be_longer = self.rules.cuts_samples or end == self.rules.truncates_tokens
        if len(ids) < end or (len(ids) > end and not may_be_longer):
            least = "at least " if may_be_longer else ""
            what = f"expected {least}{end} tokens, as when the plan was made, got {len(ids)}"
            return _NO_DOCUMENT, what
        if labels is not None and len(labels) != len(ids):
            return _NO_DOCUMENT, f"expected {len(ids)} labels, one for each token, got {len(labels)}"
        piece = _as_array(ids[start:end])
        given_labels = piece if labels is None else _as_array(labels[start:end])
        for what, values in (("token ids", piece), ("labels", given_labels)):
            if values.ndim != 1 or (len(values) and values.dtype.kind not in "iu"):
                got = f"shape {values.shape} of {values.dtype}"
                return _NO_DOCUMENT, f"expected one row of integers as {what}, got {got}"
        piece = piece.astype(np.int64)
        piece_labels = given_labels.astype(np.int64)  # a copy: the first is changed
        # What comes before a document in its row is another one, and must not predict it.
        piece_labels[:1] = self.ignore_index
        found = int(np.count_nonzero(piece_labels != self.ignore_index))
        if self.check_loss_tokens and found != n_loss_tokens:
            what = f"expected {n_loss_tokens} labels with loss, for which the plan has weights, got {found}"
            return _NO_DOCUMENT, f"{what}; the first token of a document has none"
        return _Document(piece, piece_labels, weight), ""


_NO_DOCUMENT = _Document(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0.0)


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
