"""Times the optimizer steps of a training, and writes them as `packsim calibrate fit` reads them."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from packsim.calibrate.calls import Call, ForwardCalls, ProductFormat
from packsim.calibrate.device import Spent, StepClock
from packsim.calibrate.documents_seen import RowDocuments, documents_of, rows_and_tokens
from packsim.calibrate.failures import together
from packsim.calibrate.model_seen import checkpointed_layers, is_compiled
from packsim.calibrate.row_file import RowFile
from packsim.calibrate.run_facts import RunFacts, facts_of
from packsim.calibrate.said import Said
from packsim.calibrate.step_row import MicroBatchSeen, StepSeen, row_of
from packsim.calibrate.steps.machine import GpuWatch
from packsim.torch.attention_routes import unwrapped
from packsim.torch.ranks import can_gather, gathered, rank_and_size

_FEWEST_ROWS = 4  # that `packsim calibrate fit` takes


class StepTimer:
    """Writes the time, the documents and the memory of each optimizer step of a training.

    All processes have one. Around a step they wait for their GPUs, inside it never; behind it they tell each
    other what they saw, and the first one appends a row to the file. Left out are steps of the warm-up, those
    that compiled, and those that `leave_out()` names, with the step behind these.

    Peaks of memory are those of the step: the counters of PyTorch's allocator begin anew with each.

    Parameters
    ----------
    path : path
        A measurement file, appended to: a run that is killed keeps its rows, and another one goes on.
    model : Module
        As the loop calls it: in DistributedDataParallel, FSDP or an engine of DeepSpeed, too.
    optimizer
        That of PyTorch, accelerate or DeepSpeed.
    said, **fields
        A `packsim.calibrate.Said`, or its fields.

    Raises
    ------
    ValueError
        At once for arguments, behind the first step for a run that rows cannot say, on all processes: with
        every mistake.
    OSError
        Behind the first step, where the file cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: nn.Module,
        optimizer: Any,
        said: Said | None = None,
        **fields: Any,
    ) -> None:
        if said is not None and fields:
            raise ValueError(f"said: expected it or its fields, got both: {', '.join(fields)}")
        self._said = Said(**fields) if said is None else said
        self._path = os.fspath(path)
        self._model = model
        self._optimizer = optimizer
        self._rank, self._world_size = rank_and_size()
        self._device = _device_of(model)
        self._clock = StepClock(self._device)
        self._watch = GpuWatch(self._device)
        self._calls: ForwardCalls | None = ForwardCalls(model)
        # A hook inside of compiled layers would be compiled, too.
        self._products = None if is_compiled(model) else ProductFormat(unwrapped(model))
        self._facts: RunFacts | None = None
        self._file: RowFile | None = None
        self._is_open = False
        self._reason = ""
        self._reason_for_next = ""
        self._documents: list[Sequence[int]] | None = None
        self.n_steps = 0
        self.n_rows = 0
        self.left_out: Counter[str] = Counter()

    def __enter__(self) -> StepTimer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def step(self, documents: Sequence[Sequence[int]] | None = None) -> Iterator[StepTimer]:
        """A whole optimizer step: all of its micro-batches, and the optimizer. Data are fetched before it.

        Parameters
        ----------
        documents : sequence of sequences of int, optional
            The lengths of the documents of each micro-batch, where the model's arguments do not say them.
        """
        self.begin_step(documents)
        try:
            yield self
        except BaseException:
            self._abandon()
            raise
        self.end_step()

    def begin_step(self, documents: Sequence[Sequence[int]] | None = None) -> None:
        """As `step()`, where a step is no block. A step that did not end is forgotten."""
        if self._calls is None:
            return
        self._documents = None if documents is None else list(documents)
        self._reason, self._reason_for_next = self._reason_for_next, ""
        self._is_open = True
        self._calls.begin()
        self._clock.begin()

    def leave_out(self, reason: str) -> None:
        """No row for the step that runs, nor for the next one: something beside training was done."""
        if self._is_open:
            self._reason = reason
        self._reason_for_next = f"after {reason}"

    def end_step(self) -> None:
        """The step is over: all processes call it. Nothing where none began."""
        if not self._is_open or self._calls is None:
            return
        spent = self._clock.end()
        self._is_open = False
        self._watch.read()
        calls = self._calls.end()
        self.n_steps += 1
        failure: ValueError | OSError | None = None
        seen = StepSeen(spent)
        try:
            seen = self._seen(spent, calls)
        except (ValueError, OSError) as error:
            failure = error
        self._watch.reset()
        answers = gathered((failure, seen)) if can_gather() else [(failure, seen)]
        if (failed := together([failure for failure, _ in answers])) is not None:
            self._stop()
            raise failed
        self._take([seen for _, seen in answers])

    def close(self) -> None:
        """The training is over. A warning says so where the rows are too few for a fit."""
        if self._calls is None:
            return
        if self._file is not None:
            self._file.end()
        self._stop()
        if self._rank == 0 and self.n_rows < _FEWEST_ROWS:
            left_out = ", ".join(f"{n} {reason}" for reason, n in self.left_out.items()) or "none"
            warnings.warn(
                f"{self._path}: expected {_FEWEST_ROWS} rows or more for `packsim calibrate fit`, got "
                f"{self.n_rows} of {self.n_steps} steps (left out: {left_out})",
                stacklevel=2,
            )

    def _abandon(self) -> None:
        self._is_open = False
        if self._calls is not None:
            self._calls.end()

    def _seen(self, spent: Spent, calls: Sequence[Call]) -> StepSeen:
        if self._world_size > 1 and not can_gather():
            expected = f"expected it to be initialised, as {self._world_size} processes train"
            raise ValueError(f"torch.distributed: {expected}, got none")
        if not calls and self._documents is None:
            expected = "expected forward passes of the model that was given, or documents"
            raise ValueError(f"step {self.n_steps}: {expected}, got none")
        trained = [call for call in calls if call.has_gradients]
        if self._facts is None:
            self._facts = self._made_facts(trained)
            if self._rank == 0:
                self._file = RowFile(self._path, self._facts, self._device, self._watch.driver)
        facts = self._facts
        numbers = {call.n_recomputed for call in trained if call.n_recomputed is not None}
        recomputed = checkpointed_layers(unwrapped(self._model), facts.n_layers).n_layers
        return StepSeen(
            spent=spent,
            micro_batches=tuple(self._micro_batches(facts, trained)),
            gc_layers=recomputed if self._said.gc_layers is None else facts.gc_layers,
            left_out=self._why_left_out(spent, len(calls) - len(trained), numbers),
            watched=self._watch.details(),
            flags=tuple(self._watch.flags()),
        )

    def _made_facts(self, trained: Sequence[Call]) -> RunFacts:
        product_format = None if self._products is None else self._products.dtype
        facts = facts_of(
            self._said,
            self._path,
            self._model,
            self._optimizer,
            trained,
            product_format,
            self._rank,
            self._world_size,
        )
        if self._products is not None:
            self._products.remove()
            self._products = None
        return facts

    def _micro_batches(self, facts: RunFacts, trained: Sequence[Call]) -> Iterator[MicroBatchSeen]:
        if self._documents is None:
            for call in trained:
                yield MicroBatchSeen.of(documents_of(call.inputs, facts.sp), facts.attention)
            return
        if trained and len(trained) != len(self._documents):
            raise ValueError(
                f"documents: expected those of {len(trained)} micro-batches, which were seen, got "
                f"{len(self._documents)}"
            )
        for index, lengths in enumerate(self._documents):
            given = tuple(int(length) for length in lengths)
            tokens = sum(given)
            if trained:
                n_rows, n_tokens = rows_and_tokens(trained[index].inputs)
                tokens = n_rows * n_tokens * facts.sp
            if not given or min(given) < 1 or sum(given) > tokens:
                expected = f"expected lengths of at least 1, together at most {tokens}, which were seen"
                raise ValueError(f"documents[{index}]: {expected}, got {str(list(given))[:60]}")
            yield MicroBatchSeen.of([RowDocuments(given, tokens - sum(given))], "documents")

    def _why_left_out(self, spent: Spent, n_without_gradients: int, recomputed: set[int]) -> str:
        if self.n_steps <= self._said.warmup_steps:
            return "warm-up"
        if self._reason:
            return self._reason
        if spent.compilations:
            return "compiled"
        if len(recomputed) > 1:
            return "recomputed several numbers of layers"
        return "had forward passes without gradients" if n_without_gradients else ""

    def _stop(self) -> None:
        """Takes the hooks away and lets the file go; later steps are not timed."""
        if self._calls is not None:
            self._calls.remove()
            self._calls = None
        if self._products is not None:
            self._products.remove()
            self._products = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self, seen: Sequence[StepSeen]) -> None:
        """What all processes saw: they go the same way here."""
        assert self._facts is not None
        reason = next((process.left_out for process in seen if process.left_out), "")
        if reason:
            self.left_out[reason] += 1
            return
        row = row_of(self._facts, self.n_steps, seen)
        if self._file is not None:
            self._file.append(row)
        self.n_rows += 1
        if self.n_rows == self._said.most_rows:
            self.close()


def _device_of(model: nn.Module) -> torch.device:
    for parameter in model.parameters():
        return parameter.device
    raise ValueError("model: expected parameters, got none")
