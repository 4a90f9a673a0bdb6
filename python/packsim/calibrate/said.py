"""What a user says of the run that is timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from packsim._arguments import Problems, described, not_read

ATTENTION_OVER = ("documents", "rows")
_MOST_GPUS = 1 << 20
_MOST_LAYERS = 1 << 16
_MOST_STEPS = 1 << 20

# Keys of a plan that rows of steps have: those of "parallelism" in a scenario.
_PLAN_KEYS = (
    "kernels",
    "loss",
    "optimizer",
    "precision",
    "lora_rank",
    "lora_target_modules",
    "frozen_weights",
    "tp_degree",
    "ep_degree",
    "splits_experts",
    "experts",
    "shard_degree",
    "checkpointing",
    "mlp_tiles",
    "loss_tiles",
    "fp32_gradients",
    "overlaps_states",
    "overlaps_gather",
    "recompute_stops_early",
    "plain_gradients",
    "bucket_elements",
    "shards",
    "loss_reads",
    "launch_s",
)
# Those that have another place, or none.
_OTHER_PLAN_KEYS = {
    "sp_degree": "expected it as the argument sp",
    "zero_stage": "expected it as the argument zero",
    "gc_layers": "expected it as the argument gc_layers",
    "n_gpus": "expected none, because the processes are counted",
    "pp_degree": "expected none, because rows of steps have no pipeline",
    "cp_degree": "expected none, because rows of steps have no ring attention",
    "optimizer_in_backward": "expected none, because rows of steps end with the optimizer",
    "offload": "expected none, because rows of steps have their states on the GPU",
}


@dataclass(frozen=True)
class Said:
    """What cannot be seen of a run, or is to be checked against what is seen. None: what is seen.

    Attributes
    ----------
    model_name : str
        A shipped model, or the path of its file. By default the config of a transformers model is written
        beside the rows; other models need it.
    sp, dp : int
        Processes that share a sequence by Ulysses, and data-parallel ranks.
    zero : int
        ZeRO stage: 0 is DistributedDataParallel, 3 FSDP that gathers in every pass.
    gc_layers : int
        Checkpointed layers.
    attention : str
        "documents": its kernels work through documents (FlashAttention, FlexAttention). "rows": through
        whole rows (sdpa, eager), whatever the mask says.
    plan : mapping
        Keys of a scenario's "parallelism", such as `{"tp_degree": 2, "kernels": "liger"}`.
    warmup_steps : int
        Steps at the beginning that are left out.
    most_rows : int
        After so many rows the timer stops, and costs the training nothing any more.
    """

    model_name: str | None = None
    sp: int | None = None
    dp: int | None = None
    zero: int | None = None
    gc_layers: int | None = None
    attention: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    warmup_steps: int = 5
    most_rows: int = 400

    def __post_init__(self) -> None:
        with Problems() as problems:
            for name, low, high in (
                ("sp", 1, _MOST_GPUS),
                ("dp", 1, _MOST_GPUS),
                ("zero", 0, 3),
                ("gc_layers", 0, _MOST_LAYERS),
            ):
                if getattr(self, name) is not None:
                    problems.integer(name, getattr(self, name), low, high)
            problems.integer("warmup_steps", self.warmup_steps, 1, _MOST_STEPS)
            problems.integer("most_rows", self.most_rows, 1, _MOST_STEPS)
            if self.attention is not None:
                problems.word("attention", self.attention, ATTENTION_OVER)
            if self.model_name is not None:
                _check_name(problems, self.model_name)
            _check_plan(problems, self.plan)


def _check_name(problems: Problems, name: object) -> None:
    if not isinstance(name, str) or not name or any(character.isspace() for character in name):
        problems.add(f"model_name: expected a name or a path without spaces, got {described(name)}")


def _check_plan(problems: Problems, plan: object) -> None:
    if not isinstance(plan, Mapping):
        problems.add(f"plan: expected a mapping of keys to values, got {described(plan)}")
        return
    for key, value in plan.items():
        if key in _OTHER_PLAN_KEYS:
            problems.add(f"plan.{key}: {_OTHER_PLAN_KEYS[key]}, got {value!r:.60}")
        elif key not in _PLAN_KEYS:
            problems.add(not_read(f"plan.{key}", "`calibrate fit`", _PLAN_KEYS))
    for key in ("tp_degree", "ep_degree", "shard_degree"):
        if key in plan:
            problems.integer(f"plan.{key}", plan[key], 1, _MOST_GPUS)
