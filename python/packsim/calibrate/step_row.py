"""A measured step as a line of a measurement file, from what each process saw of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from packsim.calibrate.device import Spent
from packsim.calibrate.documents_seen import RowDocuments
from packsim.calibrate.run_facts import RunFacts
from packsim.calibrate.steps.documents import Documents
from packsim.calibrate.steps.kernel_case import KernelCase

_MOST_NAMED = 8  # processes in a message


@dataclass(frozen=True)
class MicroBatchSeen:
    """The documents of one forward pass.

    Attributes
    ----------
    documents : tuple of int
        What attention works through: documents, and each row's padding as one more; or whole rows.
    lengths_tokens : tuple of int
        Of the documents, without padding.
    """

    documents: tuple[int, ...]
    lengths_tokens: tuple[int, ...]

    @classmethod
    def of(cls, rows: Sequence[RowDocuments], attention: str) -> MicroBatchSeen:
        lengths = tuple(length for row in rows for length in row.lengths_tokens)
        if attention == "rows":
            return cls(tuple(row.tokens for row in rows), lengths)
        padded = (
            length
            for row in rows
            for length in (*row.lengths_tokens, *([row.padding_tokens] if row.padding_tokens else []))
        )
        return cls(tuple(padded), lengths)

    @property
    def tokens(self) -> int:
        return sum(self.documents)


@dataclass(frozen=True)
class StepSeen:
    """What one process saw of a step.

    Attributes
    ----------
    left_out : str
        Why the step is none to go by; empty for one that is.
    watched, flags
        The state of its GPU, as `packsim.calibrate.steps.machine.GpuWatch` has it.
    """

    spent: Spent
    micro_batches: tuple[MicroBatchSeen, ...] = ()
    gc_layers: int = 0
    left_out: str = ""
    watched: dict[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def row_of(facts: RunFacts, number: int, seen: Sequence[StepSeen]) -> dict[str, Any]:
    """The line of a step. Its time is that of the slowest process, its packs those of the busiest one.

    number: of the step, from 1. seen: of each process, in the order of their ranks.

    Raises
    ------
    ValueError
        Where processes that share their packs saw different ones.
    """
    packs = _packs(facts, seen)
    worked_through = "/".join(_text(pack.documents) for pack in packs)
    case = KernelCase.parse(
        f"step model={facts.model_name} layers={facts.n_layers} gc_layers={seen[0].gc_layers} sp={facts.sp} "
        f"dp={facts.dp} zero={facts.zero} packs={worked_through}"
    )
    tokens = sum(pack.tokens for pack in packs)
    details: dict[str, Any] = _together([process.watched for process in seen]) | {
        "step": number,
        "tokens": tokens,
        "padding_tokens": tokens - sum(sum(pack.lengths_tokens) for pack in packs),
        "host_s": round(max(process.spent.host_s for process in seen), 6),
    }
    if (documents := "/".join(_text(pack.lengths_tokens) for pack in packs)) != worked_through:
        details["documents"] = documents
    if len(seen) > 1:
        details["times_s"] = [round(process.spent.time_s, 6) for process in seen]
        details["tokens_of_processes"] = [
            sum(pack.tokens for pack in process.micro_batches) for process in seen
        ]
    row: dict[str, Any] = {
        "case": case.text,
        "library": "torch",
        "samples_s": [max(process.spent.time_s for process in seen)],
        "flags": sorted({flag for process in seen for flag in process.flags}),
        "details": details,
    }
    if (peak := max(process.spent.allocated_bytes for process in seen)) > 0:
        row["peak_memory_bytes"] = peak
        details["peak_reserved_bytes"] = max(process.spent.reserved_bytes for process in seen)
    return row


def _packs(facts: RunFacts, seen: Sequence[StepSeen]) -> list[MicroBatchSeen]:
    """Those of the data-parallel rank with most to do; with gradients sent in every micro-batch, of each."""
    n_sharing = facts.sp * facts.tp
    ranks = []
    for first in range(0, len(seen), n_sharing):
        sharing = [process.micro_batches for process in seen[first : first + n_sharing]]
        if any(packs != sharing[0] for packs in sharing):
            last = min(first + n_sharing, first + _MOST_NAMED) - 1
            raise ValueError(f"documents: expected the same on processes {first} to {last}, which share them")
        ranks.append(sharing[0])

    def work(pack: MicroBatchSeen) -> float:
        pairs = sum(length**2 for length in pack.documents)
        return facts.token_flop * pack.tokens + facts.pair_flop * pairs

    if facts.zero < 2:
        return list(max(ranks, key=lambda packs: sum(work(pack) for pack in packs)))
    return [
        max((pack for pack in of_ranks if pack is not None), key=work) for of_ranks in zip_longest(*ranks)
    ]


def _text(lengths_tokens: Sequence[int]) -> str:
    return Documents.of_lengths(list(lengths_tokens)).text


def _together(watched: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The state of all GPUs: the range of clocks, every reason, and the most of each other number."""
    together: dict[str, Any] = {}
    for state in watched:
        for key, value in state.items():
            known = together.get(key, value)
            if key == "sm_clock_mhz":
                together[key] = [min(known[0], value[0]), max(known[1], value[1])]
            elif key == "throttle_reasons":
                together[key] = sorted({*known, *value})
            else:
                together[key] = max(known, value)
    return together
