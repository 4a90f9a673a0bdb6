"""Where a training loop is in the shards of a stream: what checkpoints keep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from packsim._arguments import described
from packsim._mixed_source import with_weights_from
from packsim._normalisers import StepLoss
from packsim._states import check_integer, check_integers, checked_version
from packsim._stream_setting import StreamSetting

_VERSION = 1


@dataclass(frozen=True)
class ShardState:
    """Where in a shard the next pack comes from.

    Attributes
    ----------
    window : str
        The state of the shard's packer before the window of the pack delivered last, as JSON.
    n_taken : int
        How many packs of that window have been delivered.
    n_packs : int
        How many packs of the shard have been delivered in this epoch.
    sources : mapping
        Of a MixedSource: for each source samples, tokens and repeated samples that have been delivered.
    """

    window: str
    n_taken: int
    n_packs: int
    sources: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def with_weights(self, weights: Mapping[str, float]) -> ShardState:
        """The shard of a MixedSource with other weights behind the window of the pack delivered last."""
        window = json.loads(self.window)
        if window["end"] is None:  # the shard has no more samples
            return self
        window["source"] = [
            [position, with_weights_from(state, window["end"], weights)]
            for position, state in window["source"]
        ]
        return replace(self, window=json.dumps(window))


@dataclass(frozen=True)
class Accumulation:
    """An optimizer step of which the loop has had some micro-batches, not all.

    Attributes
    ----------
    n_done, n_micro_batches : int
        Micro-batches that each rank has had, and will have had.
    loss : StepLoss
        What all ranks train in it: the rest of the step needs the same weights.
    """

    n_done: int
    n_micro_batches: int
    loss: StepLoss

    def to_dict(self) -> dict[str, Any]:
        loss = {name: list(numbers) for name, numbers in asdict(self.loss).items()}
        return {"n_done": self.n_done, "n_micro_batches": self.n_micro_batches, "loss": loss}


@dataclass(frozen=True)
class StreamPlace:
    """Where one rank is.

    Attributes
    ----------
    epoch : int
    step : int
        Micro-batches of this epoch that every rank has had, empty ones among them.
    turns : tuple of int
        The shards of the rank, that whose turn is next first.
    shards : mapping of int to ShardState
        Those of which packs have been delivered. Shards of other ranks may be among them.
    accumulation : Accumulation or None
        None between optimizer steps.
    """

    epoch: int
    step: int
    turns: tuple[int, ...]
    shards: Mapping[int, ShardState]
    accumulation: Accumulation | None = None

    @classmethod
    def start_of(cls, epoch: int, rank: int, world_size: int, n_shards: int) -> StreamPlace:
        return cls(epoch, 0, tuple(range(rank, n_shards, world_size)), {})

    def after(self, shard_index: int, shard: ShardState, accumulation: Accumulation | None) -> StreamPlace:
        """The place behind a pack of that shard."""
        at = self.turns.index(shard_index) + 1
        turns = self.turns[at:] + self.turns[:at]
        shards = {**self.shards, shard_index: shard}
        return StreamPlace(self.epoch, self.step + 1, turns, shards, accumulation)

    def after_empty(self, accumulation: Accumulation | None) -> StreamPlace:
        """The place behind a micro-batch without samples."""
        return replace(self, step=self.step + 1, accumulation=accumulation)


def to_dict(place: StreamPlace, setting: StreamSetting, rank: int, world_size: int, n_shards: int) -> Any:
    """The state of one rank, as JSON has it."""
    return {
        "version": _VERSION,
        "setting": setting.to_dict(),
        "n_shards": n_shards,
        "world_size": world_size,
        "rank": rank,
        "epoch": place.epoch,
        "step": place.step,
        "accumulation": None if place.accumulation is None else place.accumulation.to_dict(),
        "turns": list(place.turns),
        "shards": [
            {
                "shard": shard_index,
                "window": json.loads(shard.window),
                "n_taken": shard.n_taken,
                "n_packs": shard.n_packs,
                **({"sources": {k: list(v) for k, v in shard.sources.items()}} if shard.sources else {}),
            }
            for shard_index, shard in sorted(place.shards.items())
            if shard_index in place.turns
        ],
    }


def merge_stream_states(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One state of the states of all ranks, taken after the same micro-batch, for any number of ranks.

    `StreamLoader.gathered_state_dict()` collects and merges them. A state from inside an optimizer step is
    for the same number of ranks alone.

    Raises
    ------
    ValueError
        Unless they are the states of all ranks of one training run at one step.
    """
    if isinstance(states, (str, bytes)) or not isinstance(states, Sequence) or not states:
        raise ValueError(f"states: expected a list of those of all ranks, got {described(states)}")
    for i, state in enumerate(states):
        _check_of_one_rank(f"states[{i}]", state)
    states = sorted(states, key=lambda state: int(state["rank"]))
    first = states[0]
    ranks = [state["rank"] for state in states]
    if ranks != list(range(first["world_size"])):
        raise ValueError(f"states: expected one of each of {first['world_size']} ranks, got ranks {ranks}")
    for name in ("version", "setting", "n_shards", "world_size", "epoch", "step", "accumulation", "source"):
        for state in states:
            if state.get(name) != first.get(name):
                got = f"{first.get(name)!r} of rank 0 and {state.get(name)!r} of rank {state['rank']}"
                raise ValueError(f"states: expected equal {name}, got {got}")
    # Ranks take their turns side by side: the first of each, then the second of each.
    side_by_side = zip(*(state["turns"] for state in states), strict=True)
    shards = (shard for state in states for shard in state["shards"])
    return {
        **first,
        "rank": None,
        "turns": [shard_index for turn in side_by_side for shard_index in turn],
        "shards": sorted(shards, key=lambda shard: int(shard["shard"])),
    }


def place_of(
    state: Mapping[str, Any], setting: StreamSetting, rank: int, world_size: int, n_shards: int
) -> StreamPlace:
    """The place of one rank, of its own state or of a merged one.

    Raises
    ------
    ValueError
        For what is no state, one of another stream or setting, or one that lacks shards of this rank.
    """
    checked_version(state, _VERSION)
    setting.check_same(state.get("setting"))
    if state.get("n_shards") != n_shards:
        raise ValueError(f"state.n_shards: expected {n_shards}, got {described(state.get('n_shards'))}")
    check_integers("state", state, "epoch", "step")
    turns, rows = _lists_of("state", state)
    for i, shard in enumerate(turns):
        check_integer(f"state.turns[{i}]", shard, n_shards - 1)
    mine = set(range(rank, n_shards, world_size))
    missing = sorted(mine - set(turns))
    if missing or len(set(turns)) != len(turns):
        expected = f"each shard of rank {rank} of {world_size} once"
        hint = "; merge_stream_states() makes a state for another number of ranks"
        raise ValueError(f"state.turns: expected {expected}, got {turns}{hint}")
    shards = dict(_shard_of(f"state.shards[{i}]", row, n_shards) for i, row in enumerate(rows))
    if len(shards) != len(rows):
        raise ValueError(f"state.shards: expected each shard once, got {[row['shard'] for row in rows]}")
    return StreamPlace(
        epoch=state["epoch"],
        step=state["step"],
        turns=tuple(shard for shard in turns if shard in mine),
        shards=shards,
        accumulation=_accumulation_of(state.get("accumulation"), world_size),
    )


def _check_of_one_rank(place: str, given: object) -> None:
    """ValueError for what is no state of a rank; whether it fits to the stream is seen when it is loaded."""
    state = checked_version(given, _VERSION, place)
    check_integers(place, state, "rank", "world_size")
    _lists_of(place, state)


def _lists_of(place: str, state: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    turns, rows = state.get("turns"), state.get("shards")
    if not isinstance(turns, list) or not isinstance(rows, list):
        got = f"{described(turns)}, {described(rows)}"
        raise ValueError(f"{place}: expected lists turns and shards, got {got}")
    return turns, rows


def _accumulation_of(given: Any, world_size: int) -> Accumulation | None:
    if given is None:
        return None
    place = "state.accumulation"
    if not isinstance(given, Mapping) or not isinstance(given.get("loss"), Mapping):
        raise ValueError(f"{place}: expected the state of an optimizer step, or null, got {described(given)}")
    check_integers(place, given, "n_done", "n_micro_batches")
    done = f"micro-batch {given['n_done']} of {given['n_micro_batches']}"
    columns = {}
    for name in StepLoss.__dataclass_fields__:
        numbers = given["loss"].get(name)
        if not isinstance(numbers, (list, tuple)):
            raise ValueError(f"{place}.loss.{name}: expected numbers of all ranks, got {described(numbers)}")
        for rank, number in enumerate(numbers):
            check_integer(f"{place}.loss.{name}[{rank}]", number)
        if len(numbers) != world_size:
            # Other ranks have the packs then, and no checkpoint has the gradients so far.
            raise ValueError(
                f"state: expected {len(numbers)} ranks, got {world_size}: it was taken behind {done} of an "
                "optimizer step; save behind the last one (batch.is_last) to go on with other ranks"
            )
        columns[name] = tuple(numbers)
    return Accumulation(given["n_done"], given["n_micro_batches"], StepLoss(**columns))


def _shard_of(place: str, row: object, n_shards: int) -> tuple[int, ShardState]:
    if not isinstance(row, Mapping):
        raise ValueError(f"{place}: expected the state of a shard, got {described(row)}")
    check_integers(place, row, "shard", high=n_shards - 1)
    check_integers(place, row, "n_taken", "n_packs")
    if not isinstance(row.get("window"), Mapping):
        raise ValueError(
            f"{place}.window: expected the state of a packer, got {described(row.get('window'))}"
        )
    sources = row.get("sources", {})
    if not isinstance(sources, Mapping):
        raise ValueError(f"{place}.sources: expected counts of sources, got {described(sources)}")
    return row["shard"], ShardState(json.dumps(row["window"]), row["n_taken"], row["n_packs"], sources)
