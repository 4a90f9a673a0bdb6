"""StreamPacker: packs of a stream that need not end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from packsim import _core
from packsim._arguments import described
from packsim._lengths_array import LengthsLike, as_lengths
from packsim._options import DEFAULT_SEED
from packsim._states import MOST, check_integer, check_integers, checked_version
from packsim._stream_packs import StreamCounts, StreamPacks
from packsim._stream_setting import StreamSetting, checked_setting

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from packsim._option_types import Options

_STATE_VERSION = 1
_HELD = ("samples", "lengths_tokens", "n_carries")


class StreamPacker:
    """Packs a stream of any length in windows, with bounded memory and bounded delay.

    As soon as `window_samples` samples are held they are packed. Packs that are badly filled go back, least
    filled first, to be packed with the next window: together at most half a window. Which packs come out
    depends on the stream and these arguments alone, not on how `push()` was fed. Other Python threads run
    while it packs; calls from several threads wait for each other.

    Parameters
    ----------
    strategy : str
        The name of one of `strategies()` that packs whole samples into one row, all that it is given.
    capacity_tokens : int
        Pack length.
    window_samples : int
        How many samples are looked at together, carried ones included. No more are ever held.
    over_long : {"error", "drop", "truncate"}
        What becomes of samples that are longer than a pack: refuse them, leave them out, or keep the first
        tokens.
    empty : {"drop", "keep", "error"}
        What becomes of samples without tokens.
    carry_below_fraction : float
        Packs of which a smaller part is filled wait for the next window; 0: none does.
    most_carries : int
        A sample that waited this often leaves in the pack that it has.
    seed : int
        Of the shuffle, for strategies that shuffle.
    **options
        Exactly what the strategy reads: the `options` of its row.

    Attributes
    ----------
    setting : StreamSetting
        What the packer was made with.

    Examples
    --------
    >>> packer = packsim.StreamPacker(strategy="bfd", capacity_tokens=10, window_samples=4)
    >>> [samples.tolist() for samples in packer.push([6, 7, 4, 3])]
    [[1, 3], [0, 2]]
    """

    def __init__(
        self,
        *,
        strategy: str,
        capacity_tokens: int,
        window_samples: int,
        over_long: Literal["error", "drop", "truncate"] = "error",
        empty: Literal["drop", "keep", "error"] = "drop",
        carry_below_fraction: float = _core.carry_below_fraction,
        most_carries: int = _core.most_carries,
        seed: int = DEFAULT_SEED,
        **options: Unpack[Options],
    ) -> None:
        self.setting: StreamSetting = checked_setting(
            strategy=strategy,
            capacity_tokens=capacity_tokens,
            window_samples=window_samples,
            over_long=over_long,
            empty=empty,
            carry_below_fraction=carry_below_fraction,
            most_carries=most_carries,
            seed=seed,
            options=options,
        )
        self._core = self.setting.packer()

    def push(self, lengths_tokens: LengthsLike) -> StreamPacks:
        """Take the next samples of the stream; returns the packs that are complete now.

        Raises
        ------
        ValueError
            For lengths that are refused, with their positions in the stream; then none has been taken.
        """
        lengths = as_lengths(lengths_tokens, first_sample=self._core.n_samples())
        return StreamPacks(*self._core.push(lengths))

    def finish(self) -> StreamPacks:
        """Pack what is held, as the last window. Samples may follow, as after a beginning."""
        return StreamPacks(*self._core.finish())

    @property
    def counts(self) -> StreamCounts:
        """What became of the samples so far."""
        return StreamCounts(**self._core.counts())

    @property
    def room_samples(self) -> int:
        """How many samples are missing until a window is packed; at least 1."""
        return self._core.room_samples()

    def state_dict(self) -> dict[str, Any]:
        """All that the packer knows, as JSON has it: a packer that loads it goes on like this one.

        `state["held"]["samples"]` are the positions of the samples that are in no returned pack yet,
        `state["position"]` is that of the next one.
        """
        return {"version": _STATE_VERSION, "setting": self.setting.to_dict(), **self._core.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where the state was taken.

        Raises
        ------
        ValueError
            For what is no state, or one of a packer with other arguments; then nothing has changed.
        """
        self._core = self.setting.packer(self._checked(state))

    def _checked(self, given: object) -> Mapping[str, Any]:
        state = checked_version(given, _STATE_VERSION)
        self.setting.check_same(state.get("setting"))
        check_integers("state", state, "position", "n_windows")
        held = state.get("held")
        if not isinstance(held, Mapping) or not all(isinstance(held.get(name), list) for name in _HELD):
            raise ValueError(f"state.held: expected lists {', '.join(_HELD)}, got {described(held)}")
        for name in _HELD:
            if len(held[name]) != len(held["samples"]):
                expected = f"{len(held['samples'])} numbers, like samples"
                raise ValueError(f"state.held.{name}: expected {expected}, got {len(held[name])}")
            for i, value in enumerate(held[name]):
                check_integer(f"state.held.{name}[{i}]", value, MOST if name == "samples" else 2**31 - 1)
        counts = state.get("counts")
        if not isinstance(counts, Mapping):
            raise ValueError(f"state.counts: expected counts, got {described(counts)}")
        check_integers("state.counts", counts, *StreamCounts.__dataclass_fields__)
        return state

    def __getstate__(self) -> dict[str, Any]:
        return {"setting": self.setting, "state": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.setting = state["setting"]
        self._core = self.setting.packer(state["state"])

    def __repr__(self) -> str:
        setting, counts = self.setting, self.counts
        done = f"{counts.packed_samples} of {counts.n_samples} samples in {counts.n_packs} packs"
        return f"<StreamPacker by {setting.strategy}: {done} of {setting.capacity_tokens} tokens>"
