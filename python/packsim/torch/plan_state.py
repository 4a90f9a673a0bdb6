"""Where in a plan a training loop is: what checkpoints keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from packsim._arguments import Problems, integer_in
from packsim._rank_schedule import RankSchedule
from packsim._states import MOST

_MOST_EPOCH = 2**31 - 1


@dataclass(frozen=True)
class PlanState:
    """What comes next.

    Attributes
    ----------
    plan : str
        The content hash of the plan.
    epoch, iteration, turn : int
        The iteration is counted from the beginning of the epoch, the turn from that of the iteration.
    world_size : int
        Turns are those of so many processes.
    """

    plan: str
    epoch: int
    iteration: int
    turn: int
    world_size: int

    @classmethod
    def start_of(cls, schedule: RankSchedule, epoch: int = 0) -> PlanState:
        return cls(schedule.plan.content_hash, epoch, 0, 0, schedule.world_size)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def after(self, n_turns: int, n_iterations: int) -> PlanState:
        """The place behind this turn, of an iteration of `n_turns` in an epoch of `n_iterations`."""
        epoch, iteration, turn = self.epoch, self.iteration, self.turn + 1
        if turn == n_turns:
            iteration, turn = iteration + 1, 0
        if iteration == n_iterations:
            epoch, iteration = epoch + 1, 0
        return PlanState(self.plan, epoch, iteration, turn, self.world_size)

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], schedule: RankSchedule) -> PlanState:
        """What `to_dict()` gave, for the turns of `schedule`.

        Raises
        ------
        ValueError
            For the state of another plan, for what is no state, and in the middle of an iteration for that of
            another number of processes.
        """
        expected = set(cls.__dataclass_fields__)
        if not isinstance(state, Mapping) or set(state) != expected:
            got = sorted(map(str, state)) if isinstance(state, Mapping) else type(state).__name__
            raise ValueError(f"state: expected a mapping of {sorted(expected)}, got {got}")
        plan = schedule.plan
        if state["plan"] != plan.content_hash:
            raise ValueError(
                f"state: expected one of plan {plan.content_hash}, got one of plan {state['plan']}"
            )
        with Problems() as problems:
            epoch = problems.integer("state: epoch", state["epoch"], 0, _MOST_EPOCH)
            last = plan.iterations_per_epoch - 1
            iteration = problems.integer("state: iteration", state["iteration"], 0, last)
            turn = problems.integer("state: turn", state["turn"], 0, MOST)
            saved_size = problems.integer("state: world_size", state["world_size"], 1, plan.n_gpus)
        if turn > 0 and saved_size != schedule.world_size:
            # Other processes would have the packs: some twice, some never.
            raise ValueError(
                f"state: expected world_size {saved_size}, got {schedule.world_size}: it was taken behind "
                f"turn {turn} of iteration {iteration}, and turns are shared out anew on another number of "
                "processes; save behind the last micro-batch of a step to go on with another number"
            )
        if turn > 0:
            n_turns = schedule.n_turns(schedule.iterations_of_epoch(epoch)[iteration])
            integer_in("state: turn", turn, 0, n_turns - 1)
        return cls(plan.content_hash, epoch, iteration, turn, schedule.world_size)


def checked_epoch(epoch: object) -> int:
    """ValueError for what is no epoch."""
    return integer_in("epoch", epoch, 0, _MOST_EPOCH)
