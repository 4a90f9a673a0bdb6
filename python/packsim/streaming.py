"""Packs of the samples of any iterable, with as many samples in memory as a window has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from packsim._stream_packer import StreamPacker
from packsim._stream_packs import StreamPacks

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from packsim._stream_setting import StreamArguments

Sample = TypeVar("Sample")

__all__ = ["PackedStream", "stream_packs"]


def stream_packs(
    samples: Iterable[Sample],
    *,
    length_of: Callable[[Sample], int] = len,  # type: ignore[assignment]
    **arguments: Unpack[StreamArguments],
) -> Iterator[list[tuple[int, Sample]]]:
    """Pack what an iterable yields, without reading more than a window ahead.

    Parameters
    ----------
    samples : iterable
        Anything that has a length; it need not end.
    length_of : callable
        The length of a sample in tokens.
    **arguments
        Those of `StreamPacker`.

    Returns
    -------
    iterator of list of (position, sample)
        Packs: where each sample was in the stream, and the sample. One that was over-long under
        `over_long="truncate"` is there as it came, and counts as `capacity_tokens`: cut it.

    Examples
    --------
    >>> texts = ["abcdef", "abcdefg", "abcd", "abc"]
    >>> for pack in packsim.stream_packs(texts, strategy="bfd", capacity_tokens=10, window_samples=4):
    ...     print(pack)
    [(1, 'abcdefg'), (3, 'abc')]
    [(0, 'abcdef'), (2, 'abcd')]
    """
    return PackedStream(lambda start_sample: samples, StreamPacker(**arguments), length_of=length_of)


class PackedStream(Generic[Sample]):
    """An iterator over the packs of a stream that can be opened at any sample, and so be resumed.

    Parameters
    ----------
    open_at : callable
        `open_at(start_sample)` gives the samples of the stream from that position on. Called once, when the
        first pack is asked for.
    packer : StreamPacker
        Nothing else may use it.
    length_of : callable
        The length of a sample in tokens.
    state : mapping, optional
        Of `state_dict()`: go on there.
    open_from : callable, optional
        For streams whose iterators have a `state_dict()`, as JSON has it, such as those of a MixedSource: an
        iterator that goes on where it was taken. Resuming then uses it instead of `open_at`.
    name : str
        Of the stream, for errors.
    """

    def __init__(
        self,
        open_at: Callable[[int], Iterable[Sample]],
        packer: StreamPacker,
        *,
        length_of: Callable[[Sample], int] = len,  # type: ignore[assignment]
        state: Mapping[str, Any] | None = None,
        open_from: Callable[[Any], Iterator[Sample]] | None = None,
        name: str = "stream",
    ) -> None:
        self._name = name
        self._open_at = open_at
        self._open_from = open_from
        self._packer = packer
        self._length_of = length_of
        self._rest: Iterator[Sample] | None = None  # what follows in the stream, once it is open
        self._position = 0
        self._held: dict[int, tuple[Sample, int]] = {}  # with the length that it has
        # What `length_of` said of the samples of the pack taken last; over-long ones are not cut.
        self.lengths_tokens: list[int] = []
        self._error: BaseException | None = None
        self._packs: list[NDArray[np.uint64]] = []  # of the window, those to come, last first
        self._n_taken = 0
        self._n_to_skip = 0
        # The window of the packs to skip had these lengths and packs.
        self._expected_hashes = {"read_hash": "", "packs_hash": ""}
        self._source_states: list[
            list[Any]
        ] = []  # (position, state of the iterator there), those still needed
        if state is not None:
            window = dict(state["window"])
            self._expected_hashes = {name: str(window.pop(name, "")) for name in self._expected_hashes}
            self._source_states = list(window.pop("source", []))
            window.pop("end", None)
            packer.load_state_dict(window)
            self._n_to_skip = int(state["n_taken"])
        self._window_state = packer.state_dict() | self._expected_hashes
        if state is not None and "end" in state["window"]:
            self._window_state |= {"source": self._source_states, "end": state["window"]["end"]}

    def __iter__(self) -> Iterator[list[tuple[int, Sample]]]:
        return self

    def __next__(self) -> list[tuple[int, Sample]]:
        while True:
            if not self._packs and not self._has_packed_window():
                raise StopIteration
            positions = self._packs.pop().tolist()
            held = [self._held.pop(position) for position in positions]
            self._n_taken += 1
            if self._n_to_skip == 0:
                self.lengths_tokens = [length_tokens for _, length_tokens in held]
                return [(position, sample) for position, (sample, _) in zip(positions, held, strict=True)]
            self._n_to_skip -= 1

    def state_dict(self) -> dict[str, Any]:
        """Where the next pack comes from, as JSON has it: the state of the packer before the window of the
        pack taken last, hashes of the lengths that the window read and of its packs, and how many of these
        have been taken.

        Where the stream's iterator has states: `window.source` has those from which the window's samples can
        be read again, and `window.end` the position behind the window, null where the stream ends in it."""
        return {"window": self._window_state, "n_taken": max(self._n_taken, self._n_to_skip)}

    @property
    def n_held(self) -> int:
        """How many samples are in memory."""
        return len(self._held)

    def _has_packed_window(self) -> bool:
        """False at the end of the stream.

        An error comes again for who asks again: the samples that were read when it came would be left out, or
        the stream seem to end there. One of the source gets a note of where it came.
        """
        if self._error is None:
            try:
                return self._pack_window()
            except BaseException as error:  # an interrupt, too
                if not str(error).startswith(self._name) and hasattr(error, "add_note"):  # Python 3.11
                    error.add_note(f"{self._name}: while sample {self._position} was read")
                self._error = error
        raise self._error

    def _pack_window(self) -> bool:
        rest = self._opened()
        self._window_state = self._packer.state_dict()
        self._note_source_state(rest)
        self._n_taken = 0
        read, packed = (hashlib.blake2b(digest_size=16) for _ in range(2))
        while not self._packs:
            room_samples = self._packer.room_samples
            samples, lengths = self._read(rest, room_samples)
            packs = self._pushed(samples, lengths) if samples else self._packer.finish()
            read.update(np.array(lengths, dtype=np.int64).tobytes() if samples else b"end")
            packed.update(packs.offsets.tobytes() + packs.samples.tobytes())
            self._packs = list(packs)[::-1]
            if not samples:
                break
        self._window_state |= {"read_hash": read.hexdigest(), "packs_hash": packed.hexdigest()}
        if self._source_states:
            # None: the stream has ended, and stays so.
            end = self._position if len(samples) == room_samples else None
            self._window_state |= {"source": self._source_states, "end": end}
        if self._n_to_skip > 0:
            self._check_same_window()
        return bool(self._packs)

    def _read(self, rest: Iterator[Sample], n_samples: int) -> tuple[list[Sample], list[int]]:
        """The next samples and their lengths."""
        samples, lengths = [], []
        for sample in islice(rest, n_samples):
            samples.append(sample)
            lengths.append(self._length_of(sample))
            self._position += 1
        return samples, lengths

    def _pushed(self, samples: list[Sample], lengths_tokens: list[int]) -> StreamPacks:
        """The packs that are complete now; samples that are in packs, now or later, are held."""
        try:
            packs = self._packer.push(lengths_tokens)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None
        begin = self._position - len(samples)
        for position, (sample, length_tokens) in enumerate(zip(samples, lengths_tokens, strict=True), begin):
            if not self._packer.setting.leaves_out(length_tokens):
                self._held[position] = sample, int(length_tokens)
        return packs

    def _check_same_window(self) -> None:
        """ValueError where the window is not that of the state: samples would be lost, or trained twice."""
        begin = self._window_state["position"]
        samples = f"from sample {begin} to its next {self._position - begin} samples"
        if self._window_state["read_hash"] != self._expected_hashes["read_hash"]:
            expected = f"the lengths that it had {samples}"
            raise ValueError(f"{self._name}: expected {expected}, as before, got others")
        if self._expected_hashes["packs_hash"] not in ("", self._window_state["packs_hash"]):
            hint = "go on with the version of packsim that wrote the state, or from the end of an epoch"
            raise ValueError(f"{self._name}: expected the packs that it had {samples}, got others: {hint}")

    def _note_source_state(self, rest: Iterator[Sample]) -> None:
        """Notes the state at the beginning of a window; states that no held sample needs are forgotten."""
        if not hasattr(rest, "state_dict"):
            return
        states = [state for state in self._source_states if state[0] < self._position]
        states.append([self._position, rest.state_dict()])
        oldest = min(self._window_state["held"]["samples"], default=self._position)
        while len(states) > 1 and states[1][0] <= oldest:
            states = states[1:]
        self._source_states = states

    def _opened(self) -> Iterator[Sample]:
        """The samples after the window's position; those that the packer holds are read again."""
        if self._rest is not None:
            return self._rest
        held = self._window_state["held"]
        length_of_held = dict(zip(held["samples"], held["lengths_tokens"], strict=True))
        end = self._window_state["position"]
        begin = min(length_of_held, default=end)
        states = [state for state in self._source_states if state[0] <= begin]
        if states and self._open_from is not None:
            begin, source_state = states[-1]
            self._rest = self._open_from(source_state)
        else:
            self._rest = iter(self._open_at(begin))
        self._position = begin
        for sample in islice(self._rest, end - begin):
            if self._position in length_of_held:
                self._take_again(sample, length_of_held[self._position])
            self._position += 1
        if self._position < end:
            got = f"none from sample {self._position} on"
            raise ValueError(f"{self._name}: expected at least {end} samples, as before, got {got}")
        return self._rest

    def _take_again(self, sample: Sample, length_tokens: int) -> None:
        whole_tokens = int(self._length_of(sample))
        found_tokens = min(whole_tokens, self._packer.setting.capacity_tokens)
        if found_tokens != length_tokens:
            expected = f"{length_tokens} tokens, as before, in sample {self._position}"
            raise ValueError(f"{self._name}: expected {expected}, got {found_tokens}")
        self._held[self._position] = sample, whole_tokens
