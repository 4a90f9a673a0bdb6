"""How many micro-batches the steps of a plan have."""

from __future__ import annotations

from packsim._plan import Plan
from packsim._rank_schedule import RankSchedule


def turns_of_iterations(plan: Plan, world_size: int) -> set[int]:
    """Of each process; a plan may have several numbers of them."""
    schedule = RankSchedule(plan, 0, world_size)
    return {schedule.n_turns(iteration) for iteration in range(plan.n_iterations)}
