"""Written by tests/python/test_option_types.py from the records of strategies' options."""

from __future__ import annotations

from typing_extensions import TypedDict


class Options(TypedDict, total=False):
    """The options of all strategies, for type checkers. Each strategy reads some: packsim.options()."""

    batch_samples: int | None
    batch_tokens: int | None
    costs: str
    flexsp_buckets: int
    greedy_fill: bool
    integer_programs: bool
    linear_weight_tokens: int
    look_ahead_batches: int
    max_samples_per_pack: int | None
    micro_batch_tokens: int | None
    micro_batch_tries: int
    min_sp: int
    minimize_gpu_time: bool
    outlier_queues: int
    outlier_threshold_tokens: int | None
    packer: str
    padded_batches: bool
    planner_processes: int
    rounds: int
    samples_per_iteration: int | None
    shuffle: bool
    solve_nodes: int | None
    solve_s: float | None
    solve_time_limit_s: float | None
    threshold_tokens: int | None
    window_iterations: int | None
