"""Several sources as one, in shares that may change while it is read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from packsim._arguments import Problems, described
from packsim._mix_order import MixOrder

OpenShard = Callable[[int, int, int], Iterable[Any]]

_AT_END = ("stop", "repeat", "drop")


class SourcedSample(NamedTuple):
    """A sample of a MixedSource.

    Attributes
    ----------
    source : str
    pass_index : int
        How often the source had ended before, in this shard.
    sample
        As the source gave it.
    """

    source: str
    pass_index: int
    sample: Any


class MixedSource:
    """Samples of several sources, in shares: an `open_shard` for StreamDataset.

    Shard i mixes the shards i of all sources. After any number of samples of a shard each source has had its
    share of them to within one sample, counted from when the weights were set or a source was dropped. The
    order depends on the weights, the seed and the shard alone. Shares are of samples, not of tokens.

    Parameters
    ----------
    sources : mapping of str to callable
        `open_shard(shard_index, n_shards, start_sample)` of each, such as FileShards or DatasetShards.
    weights : mapping of str to float
        Of every source, not all 0; 0: none of its samples for now.
    at_end : {"stop", "repeat", "drop"} or mapping of str to one of them
        When a source has no more samples in a shard: the shard ends, the source begins again (these samples
        are counted as repeated), or it is left out and the others keep the proportions of their weights. A
        shard also ends when no source is left that has a weight. Where all repeat, it never does.
    seed : int
        Decides, differently in each shard, between sources that are due at the same time.
    """

    def __init__(
        self,
        sources: Mapping[str, OpenShard],
        *,
        weights: Mapping[str, float],
        at_end: str | Mapping[str, str] = "stop",
        seed: int = 0,
    ) -> None:
        if not isinstance(sources, Mapping) or not sources:
            raise ValueError(f"sources: expected a mapping of at least one source, got {described(sources)}")
        problems = Problems()
        self.sources = dict(sources)
        for name, source in self.sources.items():
            if not isinstance(name, str) or not callable(source):
                problems.add(f"sources[{name!r}]: expected a name and an open_shard, got {described(source)}")
            if isinstance(source, MixedSource):  # its samples would have two sources, and states lack its own
                problems.add(f"sources[{name!r}]: expected no mix, got one: give its sources")
        self.weights = _checked_weights("weights", weights, self.sources, problems)
        given = at_end if isinstance(at_end, Mapping) else dict.fromkeys(self.sources, at_end)
        _check_names("at_end", given, self.sources, problems)
        self.at_end = {
            name: problems.word(f"at_end[{name!r}]", given.get(name, "stop"), _AT_END)
            for name in self.sources
        }
        self.seed = problems.integer("seed", seed, 0, 2**64 - 1)
        problems.raise_if_any()
        self.history: list[list[Any]] = []
        self.requested: dict[str, float] | None = (
            None  # what set_weights() asked for and is not in effect yet
        )

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Other weights, from the next window of each shard on.

        A StreamLoader takes them over behind the optimizer step that the loop is in: what the loop has had,
        and the rest of the windows that it has had packs of, stay as they are; what workers have fetched
        beyond that is fetched again. So it does not depend on the number of workers. All ranks set the same
        weights in the same step.

        Raises
        ------
        ValueError
            For what are no weights of these sources; then nothing has changed.
        """
        with Problems() as problems:
            checked = _checked_weights("weights", weights, self.sources, problems)
        self.requested = checked

    def take_requested(self, epoch: int, step: int) -> dict[str, float] | None:
        """Put what `set_weights()` asked for into effect. For StreamDataset."""
        requested, self.requested = self.requested, None
        if requested is not None:
            self.weights = requested
            self.history.append([epoch, step, requested])
        return requested

    def set_epoch(self, epoch: int) -> None:
        for source in self.sources.values():
            if hasattr(source, "set_epoch"):
                source.set_epoch(epoch)

    def __call__(self, shard_index: int, n_shards: int, start_sample: int) -> Iterator[SourcedSample]:
        """The samples of a shard under the weights that there are now, from one on; it reads those before."""
        shard = self.shard_from(shard_index, n_shards, None)
        for _ in islice(shard, start_sample):
            pass
        return shard

    def shard_from(self, shard_index: int, n_shards: int, state: Mapping[str, Any] | None) -> MixedShard:
        """The samples of a shard from where `MixedShard.state_dict()` was taken; None: all."""
        return MixedShard(self, shard_index, n_shards, state)

    def state_dict(self) -> dict[str, Any]:
        """Weights: those in effect, those asked for, and [epoch, micro-batch, weights] of every change."""
        return {
            "setting": self._setting(),
            "weights": dict(self.weights),
            "requested": self.requested,
            "history": [list(change) for change in self.history],
        }

    def load_state_dict(self, state: Any) -> None:
        """The weights of a state.

        Raises
        ------
        ValueError
            For what is no state, or one of other sources; then nothing has changed.
        """
        if not isinstance(state, Mapping) or not isinstance(state.get("history"), list):
            raise ValueError(f"state.source: expected the state of a MixedSource, got {described(state)}")
        if state.get("setting") != self._setting():
            expected = f"one of {self._setting()}"
            raise ValueError(f"state.source.setting: expected {expected}, got {state.get('setting')}")
        with Problems() as problems:
            weights = _checked_weights("state.source.weights", state.get("weights"), self.sources, problems)
            requested = state.get("requested")
            if requested is not None:
                requested = _checked_weights("state.source.requested", requested, self.sources, problems)
        self.weights, self.requested = weights, requested
        self.history = [list(change) for change in state["history"]]

    def _setting(self) -> dict[str, Any]:
        return {"at_end": dict(self.at_end), "seed": self.seed}


class MixedShard:
    """An iterator over the samples of one shard, which can be taken up again from its state."""

    def __init__(
        self, mix: MixedSource, shard_index: int, n_shards: int, state: Mapping[str, Any] | None
    ) -> None:
        self._mix = mix
        self._shard = (shard_index, n_shards)
        self._ties = _ties(mix, shard_index)
        if state is None:
            places = {name: [0, 0] for name in mix.sources}
            state = {"position": 0, "weights": mix.weights, "taken": {}, "places": places}
            state |= {"dropped": [], "changes": []}
        self._position = int(state["position"])
        self._weights = dict(state["weights"])
        self._places = {name: list(place) for name, place in state["places"].items()}
        self._dropped = list(state["dropped"])
        self._changes: list[tuple[int, dict[str, float]]] = [
            (int(position), dict(weights)) for position, weights in state["changes"]
        ]
        self._order = self._ordered(state["taken"])
        self._open: dict[str, Iterator[Any]] = {}
        self._has_ended = False

    def __iter__(self) -> MixedShard:
        return self

    def __next__(self) -> SourcedSample:
        if self._changes and self._changes[0][0] <= self._position:
            _, self._weights = self._changes.pop(0)
            self._order = self._ordered({})
        while self._order is not None and not self._has_ended:
            name = self._order.next()
            found = self._sample_of(name)
            if found is not None:
                self._order.take(name)
                self._position += 1
                return found
            self._end(name)
        self._has_ended = True
        raise StopIteration

    def state_dict(self) -> dict[str, Any]:
        """Where the next sample comes from, as JSON has it."""
        return {
            "position": self._position,
            "weights": dict(self._weights),
            "taken": {} if self._order is None else dict(self._order.taken),
            "places": {name: list(place) for name, place in self._places.items()},
            "dropped": list(self._dropped),
            "changes": [[position, dict(weights)] for position, weights in self._changes],
        }

    def _sample_of(self, name: str) -> SourcedSample | None:
        """The next sample of a source; None where it has no more."""
        pass_index, n_read = self._places[name]
        if name not in self._open:
            self._open[name] = iter(self._mix.sources[name](*self._shard, n_read))
        for sample in self._open[name]:
            self._places[name][1] += 1
            return SourcedSample(name, pass_index, sample)
        return None

    def _end(self, name: str) -> None:
        """The source has no more samples."""
        at_end = self._mix.at_end[name]
        if at_end == "stop":
            self._has_ended = True
        elif at_end == "drop":
            self._dropped.append(name)
            self._order = self._ordered({})
        else:
            pass_index, n_read = self._places[name]
            if n_read == 0:
                place = f"source {name!r}, shard {self._shard[0]} of {self._shard[1]}"
                raise ValueError(f"{place}: expected at least one sample to repeat, got none")
            self._places[name] = [pass_index + 1, 0]
            del self._open[name]

    def _ordered(self, taken: Mapping[str, int]) -> MixOrder | None:
        """None where no source is left."""
        weights = {name: 0.0 if name in self._dropped else w for name, w in self._weights.items()}
        return MixOrder(weights, self._ties, taken) if any(weights.values()) else None


def with_weights_from(
    state: Mapping[str, Any], position: int, weights: Mapping[str, float]
) -> dict[str, Any]:
    """The state of a shard whose weights are others from a sample on."""
    changes = [change for change in state["changes"] if change[0] < position]
    return {**state, "changes": [*changes, [position, dict(weights)]]}


def _ties(mix: MixedSource, shard_index: int) -> dict[str, int]:
    def drawn(name: str) -> bytes:
        return hashlib.blake2b(f"{mix.seed} {shard_index} {name}".encode(), digest_size=16).digest()

    return {name: place for place, name in enumerate(sorted(mix.sources, key=drawn))}


def _check_names(
    place: str, given: Mapping[str, Any], sources: Mapping[str, Any], problems: Problems
) -> None:
    if set(given) != set(sources):
        problems.add(f"{place}: expected one for each of {sorted(sources)}, got {sorted(map(str, given))}")


def _checked_weights(
    place: str, weights: Any, sources: Mapping[str, Any], problems: Problems
) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        problems.add(f"{place}: expected a mapping of a weight for each source, got {described(weights)}")
        return {}
    _check_names(place, weights, sources, problems)
    checked = {}
    for name in sources:
        weight = weights.get(name, 0.0)
        is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if not is_number or not math.isfinite(weight) or weight < 0:
            problems.add(
                f"{place}[{name!r}]: expected a number that is not negative, got {described(weight)}"
            )
            weight = 1.0
        checked[name] = float(weight)
    if not any(checked.values()):
        problems.add(f"{place}: expected one that is more than 0, got none")
    return checked
