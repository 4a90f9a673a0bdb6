"""What a step timer sees of models, optimizers, processes and GPUs, by stand-ins for what is not here."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from timed_runs import adamw, llama  # noqa: E402
from torch import nn  # noqa: E402

from packsim.calibrate.device import Spent, StepClock, launch_s  # noqa: E402
from packsim.calibrate.documents_seen import RowDocuments  # noqa: E402
from packsim.calibrate.failures import together  # noqa: E402
from packsim.calibrate.model_seen import attention_over, check_text_alone, kernels_of, lora_of  # noqa: E402
from packsim.calibrate.optimizer_seen import optimizer_kind  # noqa: E402
from packsim.calibrate.parallelism_seen import parallelism_of  # noqa: E402
from packsim.calibrate.run_facts import RunFacts  # noqa: E402
from packsim.calibrate.step_row import MicroBatchSeen, StepSeen, row_of  # noqa: E402


def named(name: str, module: str = "elsewhere", base: type = object, **members: Any) -> Any:
    """A class of that name, in place of one of a package."""
    return type(name, (base,), {"__module__": module, **members})


# Attention


@pytest.mark.parametrize(
    ("name", "over"),
    [
        ("flash_attention_2", "documents"),
        ("kernels-community/vllm-flash-attn3", "documents"),
        ("flex_attention", "documents"),
        ("sdpa", "rows"),
        ("eager", "rows"),
    ],
)
def test_attention_works_through_documents_or_rows(name: str, over: str) -> None:
    model = llama()
    model.config._attn_implementation_internal = name
    assert attention_over(model) == over
    assert attention_over(nn.Linear(2, 2)) is None


# Kernels


def test_kernels_are_those_of_the_packages_in_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    assert kernels_of(model) == "eager"
    model.model.norm = named("LigerRMSNorm", "liger_kernel.transformers.rms_norm", nn.Identity)()
    assert kernels_of(model) == "liger"
    assert kernels_of(nn.Sequential(named("Linear", "transformer_engine.pytorch", nn.Identity)())) == (
        "transformer_engine"
    )
    assert kernels_of(nn.Linear(2, 2)) == "mixed"
    with monkeypatch.context() as patch:
        plugin = types.SimpleNamespace(backend=types.SimpleNamespace(value="INDUCTOR"))
        state = types.SimpleNamespace(dynamo_plugin=plugin)
        accelerate = types.SimpleNamespace(is_initialized=lambda: True, AcceleratorState=lambda: state)
        patch.setitem(sys.modules, "accelerate.state", accelerate)
        assert kernels_of(model) == "compiled"
    model.model.layers[0].compile(backend="eager")
    assert kernels_of(model) == "compiled"


def test_a_model_with_an_encoder_of_images_is_refused() -> None:
    model = llama()
    check_text_alone(model)
    text, model.config = model.config, types.SimpleNamespace(model_type="two", get_text_config=lambda: None)
    model.config.get_text_config = lambda: text
    expected = "model: expected one of text alone, as rows of steps have no other parts, got SimpleNamespace"
    with pytest.raises(ValueError, match=expected):
        check_text_alone(model)


# LoRA, as PEFT has it


def with_adapters(ranks: dict[str, int], formats: str = "Linear") -> Any:
    model = llama()
    for parameter in model.parameters():
        parameter.requires_grad = False
    for name, rank in ranks.items():
        layer = named(formats, "peft", nn.Linear)(4, 4)
        layer.weight.requires_grad = layer.bias.requires_grad = False
        layer.lora_A = nn.ModuleDict({"default": nn.Linear(4, rank, bias=False)})
        layer.lora_B = nn.ModuleDict({"default": nn.Linear(rank, 4, bias=False)})
        layer.r = {"default": rank}
        setattr(model.model.layers[0].self_attn, name, layer)
    return model


def test_adapters_are_seen_with_their_rank_and_their_places() -> None:
    assert lora_of(llama()) == {}
    assert lora_of(with_adapters({"q_proj": 8, "v_proj": 8})) == {
        "lora_rank": 8,
        "lora_target_modules": ["q_proj", "v_proj"],
    }
    assert lora_of(with_adapters({"q_proj": 8}, "Linear4bit"))["frozen_weights"] == "nf4"


def test_what_is_trained_in_another_way_is_refused_at_once() -> None:
    model = with_adapters({"q_proj": 8, "k_proj": 4}, "Linear8bitLt")
    model.lm_head.weight.requires_grad = True
    with pytest.raises(ValueError) as caught:
        lora_of(model)
    assert str(caught.value).splitlines() == [
        "model: expected nothing trained beside LoRA, got lm_head.weight",
        "model: expected adapters of one rank, got [4, 8]",
        "model: expected frozen weights in bf16 or nf4, got Linear8bitLt",
    ]
    for parameter in model.parameters():
        parameter.requires_grad = False
    model = llama()
    model.requires_grad_(False)
    with pytest.raises(ValueError, match=r"got \d+ that are frozen, .*, .*, .* and \d+ more"):
        lora_of(model)


# Optimizers


def of_bitsandbytes(name: str, **members: Any) -> Any:
    return named(name, "bitsandbytes.optim", **members)()


@pytest.mark.parametrize(
    ("optimizer", "kind"),
    [
        (of_bitsandbytes("AdamW8bit"), "adamw_8bit"),
        (of_bitsandbytes("PagedAdamW8bit"), "paged_adamw_8bit"),
        # The Trainer makes those of 8 bits by their arguments.
        (of_bitsandbytes("AdamW", args=types.SimpleNamespace(optim_bits=8), is_paged=False), "adamw_8bit"),
        (
            of_bitsandbytes("AdamW", args=types.SimpleNamespace(optim_bits=8), is_paged=True),
            "paged_adamw_8bit",
        ),
        (of_bitsandbytes("AdamW", args=types.SimpleNamespace(optim_bits=32), is_paged=True), "paged_adamw"),
        (of_bitsandbytes("AdamW", args=types.SimpleNamespace(optim_bits=32), is_paged=False), None),
        (named("Adafactor")(), "adafactor"),
        (named("Lion")(), "lion"),
        (named("Muon")(), "muon"),
        (named("Prodigy")(), None),
    ],
)
def test_optimizers_have_their_names_in_plans(optimizer: Any, kind: str | None) -> None:
    assert optimizer_kind(optimizer, has_bf16_weights=True) == kind
    wrapped = named("AcceleratedOptimizer", "accelerate.optimizer", optimizer=optimizer)()
    assert optimizer_kind(wrapped, has_bf16_weights=True) == kind


def test_adamw_is_told_by_its_formats() -> None:
    model = llama()
    optimizer = adamw(model)
    assert optimizer_kind(optimizer, has_bf16_weights=True) == "adamw_bf16"
    weight = model.lm_head.weight
    optimizer.state[weight] = {"step": torch.tensor(1.0), "exp_avg": torch.zeros_like(weight)}
    assert optimizer_kind(optimizer, has_bf16_weights=True) == "adamw_bf16"
    optimizer.state[weight]["exp_avg"] = torch.zeros_like(weight, dtype=torch.float32)
    assert optimizer_kind(optimizer, has_bf16_weights=True) is None
    # fp32 weights; adapters in fp32 beside layers in bf16.
    assert optimizer_kind(adamw(llama(torch.float32)), has_bf16_weights=False) == "adamw_fp32"
    assert optimizer_kind(adamw(llama(torch.float32)), has_bf16_weights=True) == "adamw"


def test_deepspeed_has_master_weights() -> None:
    zero = named("DeepSpeedZeroOptimizer", "deepspeed.runtime.zero.stage_1_and_2")
    assert optimizer_kind(zero(), has_bf16_weights=True) is None
    of_adamw = named(zero.__name__, zero.__module__, optimizer=adamw(llama()))()
    assert optimizer_kind(of_adamw, has_bf16_weights=True) == "adamw"
    of_lion = named(zero.__name__, zero.__module__, optimizer=named("Lion")())()
    assert optimizer_kind(of_lion, has_bf16_weights=True) is None


# Processes


@pytest.mark.parametrize(
    ("strategy", "zero"),
    [
        ("FULL_SHARD", 3),
        ("HYBRID_SHARD", 3),
        ("SHARD_GRAD_OP", 2),
        ("_HYBRID_SHARD_ZERO2", 2),
        ("NO_SHARD", 0),
    ],
)
def test_the_first_fsdp_says_its_strategy(strategy: str, zero: int) -> None:
    kind = named("FullyShardedDataParallel", "torch.distributed.fsdp", nn.Sequential)
    model = kind(nn.Linear(2, 2))
    model.sharding_strategy = types.SimpleNamespace(name=strategy)
    assert parallelism_of(model).zero == zero


def test_an_engine_of_deepspeed_says_its_stage_and_its_communication() -> None:
    engine = named("DeepSpeedEngine", "deepspeed.runtime.engine", nn.Sequential)(nn.Linear(2, 2))
    engine.zero_optimization_stage = lambda: 2
    engine.config = {
        "zero_optimization": {"overlap_comm": True, "reduce_bucket_size": 1e8},
        "data_types": {"grad_accum_dtype": "fp32"},
    }
    seen = parallelism_of(engine)
    assert seen.zero == 2
    assert seen.plan == {
        "overlaps_states": True,
        "plain_gradients": False,
        "fp32_gradients": True,
        "bucket_elements": 100_000_000,
    }
    engine.config, engine.zero_optimization_stage = "config.json", lambda: 3
    assert parallelism_of(engine).plan == {
        "overlaps_states": True,
        "plain_gradients": False,
        "fp32_gradients": False,
        "bucket_elements": 500_000_000,
    }


class Mesh:
    mesh_dim_names = ("dp_replicate", "dp_shard", "tp", "cp")

    def size(self, index: int) -> int:
        return (2, 4, 2, 1)[index]


def test_meshes_say_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(2, 2)
    monkeypatch.setattr(nn.Parameter, "device_mesh", Mesh(), raising=False)
    seen = parallelism_of(model)
    assert seen.degrees == {"tp": 2} and seen.plan["shard_degree"] == 4
    monkeypatch.delattr(nn.Parameter, "device_mesh")
    model.tp_size = 8  # type: ignore[assignment]
    assert parallelism_of(model).degrees == {"tp": 8}


def test_accelerate_says_what_it_wraps_a_model_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "accelerate.state", module)
    assert parallelism_of(nn.Linear(2, 2)).zero is None
    state: Any = types.SimpleNamespace(distributed_type=types.SimpleNamespace(value="MULTI_GPU"))
    module.is_initialized, module.AcceleratorState = lambda: True, lambda: state
    assert parallelism_of(nn.Linear(2, 2)).zero == 0
    state.distributed_type.value = "DEEPSPEED"
    state.deepspeed_plugin = types.SimpleNamespace(zero_stage=1, deepspeed_config={})
    seen = parallelism_of(nn.Linear(2, 2))
    assert seen.zero == 1 and seen.plan["overlaps_states"] is False
    state.parallelism_config = types.SimpleNamespace(tp_size=2, cp_size=4, sp_size=None)
    assert parallelism_of(nn.Linear(2, 2)).degrees == {"tp": 2, "cp": 4}


# Clocks


def test_a_step_waits_for_its_gpu_at_its_borders_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def note(name: str, result: int = 0) -> Any:
        return lambda device: called.append(name) or result

    for name, result in (
        ("synchronize", 0),
        ("reset_peak_memory_stats", 0),
        ("max_memory_allocated", 5),
        ("max_memory_reserved", 7),
    ):
        monkeypatch.setattr(torch.cuda, name, note(name, result))
    clock = StepClock(torch.device("cuda", 0))
    clock.begin()
    called.append("step")
    spent = clock.end()
    assert called == [
        "synchronize",
        "reset_peak_memory_stats",
        "step",
        "synchronize",
        "max_memory_allocated",
        "max_memory_reserved",
    ]
    assert (spent.allocated_bytes, spent.reserved_bytes) == (5, 7) and 0 < spent.host_s <= spent.time_s
    with pytest.raises(ValueError, match="model: expected it on cuda or cpu, got meta"):
        StepClock(torch.device("meta"))


def test_a_launch_takes_microseconds_and_draws_no_random_numbers() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    assert 1e-7 < launch_s(torch.device("cpu")) < 1e-2
    assert torch.equal(torch.get_rng_state(), before)


# Rows


FACTS = RunFacts(
    model_name="m",
    n_layers=2,
    gc_layers=0,
    sp=1,
    tp=1,
    dp=2,
    zero=0,
    attention="documents",
    plan={},
    details={},
    token_flop=1000.0,
    pair_flop=1.0,
)


def process(*packs: tuple[int, ...], time_s: float = 1.0, watched: Any = None, flags: Any = ()) -> StepSeen:
    spent = Spent(time_s, 0.5, int(10 * time_s), int(20 * time_s), 0)
    return StepSeen(spent, tuple(MicroBatchSeen(pack, pack) for pack in packs), 0, "", watched or {}, flags)


def test_a_row_has_the_slowest_time_the_largest_peak_and_the_state_of_all_gpus() -> None:
    fast = {
        "sm_clock_mhz": [1500, 1900],
        "power_w": 600.0,
        "temperature_c": 60,
        "throttle_reasons": ["power_cap"],
    }
    hot = {"sm_clock_mhz": [1300, 1700], "power_w": 700.0, "temperature_c": 90, "throttle_reasons": ["brake"]}
    seen = [
        process((9,), time_s=1.0, watched=fast),
        process((8,), time_s=2.0, watched=hot, flags=("throttled",)),
    ]
    row = row_of(FACTS, 7, seen)
    assert row["case"] == "step model=m layers=2 gc_layers=0 sp=1 dp=2 zero=0 packs=1x9"
    assert row["samples_s"] == [2.0] and row["flags"] == ["throttled"]
    assert row["peak_memory_bytes"] == 20 and row["details"]["peak_reserved_bytes"] == 40
    assert row["details"]["sm_clock_mhz"] == [1300, 1900] and row["details"]["temperature_c"] == 90
    assert row["details"]["power_w"] == 700.0
    assert row["details"]["throttle_reasons"] == ["brake", "power_cap"]
    assert row["details"]["times_s"] == [1.0, 2.0] and row["details"]["tokens_of_processes"] == [9, 8]


def test_the_busiest_process_is_the_one_with_most_work_not_with_most_tokens() -> None:
    # 90 tokens of short documents: 90 000 + 90 * 10 flop. A document of 300 has 300 * 300 pairs.
    seen = [process((10,) * 9), process((80,))]
    assert row_of(FACTS, 1, seen)["case"].endswith("packs=9x10")
    attention = RunFacts(**{**vars(FACTS), "pair_flop": 10.0})
    # 90 000 + 9 000 against 80 000 + 64 000.
    assert row_of(attention, 1, seen)["case"].endswith("packs=1x80")


def test_processes_that_share_packs_must_have_seen_the_same() -> None:
    facts = RunFacts(**{**vars(FACTS), "sp": 2, "dp": 1})
    assert row_of(facts, 1, [process((9,)), process((9,))])["case"].endswith("sp=2 dp=1 zero=0 packs=1x9")
    expected = "documents: expected the same on processes 0 to 1, which share them"
    with pytest.raises(ValueError, match=expected):
        row_of(facts, 1, [process((9,)), process((8,))])


def test_processes_may_have_other_numbers_of_micro_batches() -> None:
    facts = RunFacts(**{**vars(FACTS), "zero": 3})
    seen = [process((5,), (9,)), process((7,))]
    assert row_of(facts, 1, seen)["case"].endswith("packs=1x7/1x9")
    assert row_of(FACTS, 1, seen)["case"].endswith("packs=1x5/1x9")


def test_padding_is_a_document_of_its_own_or_part_of_its_row() -> None:
    batch = [RowDocuments((4, 3), 2), RowDocuments((9,))]
    assert MicroBatchSeen.of(batch, "documents").documents == (4, 3, 2, 9)
    assert MicroBatchSeen.of(batch, "rows").documents == (9, 9)
    assert MicroBatchSeen.of(batch, "rows").lengths_tokens == (4, 3, 9)


# Failures


def test_failures_of_processes_are_told_once_and_whose_they_are() -> None:
    assert together([None, None]) is None
    both, one = ValueError("both\nof the first"), ValueError("both")
    assert str(together([both, one])) == "both\nprocess 0: of the first"
    # A machine's failure is none of the user's mistakes.
    failed = together([None, OSError("a full disk"), ValueError("x")])
    assert isinstance(failed, OSError)
    assert str(failed) == "process 1: a full disk\nprocess 2: x"
    many = together([ValueError("\n".join(map(str, range(12))))])
    assert str(many).splitlines()[-2:] == ["9", "and 2 more"]
