"""What a trainer does when it is given settings that packsim writes, by the meaning of its own keys.

Nothing here looks at models/trainers/settings, from which the files were written.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass
class Job:
    """What holds beside the settings: the model, and how many GPUs the user starts."""

    n_gpus: int
    n_layers: int
    n_kv_heads: int


@dataclass
class Plan:
    """A plan in the words of packsim."""

    zero_stage: int = -1
    tp_degree: int = 1
    pp_degree: int = 1
    virtual_stages: int = 1
    ep_degree: int = 1
    sp_degree: int = 1
    cp_degree: int = 1
    cp_exchange: str = "ring"  # where cp_degree is not 1
    shards: int = 0  # GPUs that share one set of shards; 0: all that hold the same weights
    gc_layers: int = 0
    checkpointing: str | tuple[str, ...] = "full"
    offload: set[str] = field(default_factory=set)
    mlp_tiles: int | None = 1  # None: as many as the trainer chooses, above 1
    micro_batches: int | None = None  # None: not said
    pack_tokens: int | None = None


Files = dict[str, Any]


def read_files(folder: Path) -> Files:
    """The settings of a folder: objects of JSON and YAML, and words of shell arrays."""
    files: Files = {}
    for path in folder.iterdir():
        text = path.read_text()
        if path.suffix == ".json":
            files[path.name] = json.loads(text)
        elif path.suffix == ".yaml":
            files[path.name] = yaml.safe_load(text)
        else:
            files[path.name] = shlex.split(text[text.index("(") + 1 : text.rindex(")")])
    return files


def arguments(words: list[str]) -> dict[str, Any]:
    """The words behind each `--key`: one, several, or True for none."""
    values: dict[str, Any] = {}
    key = ""
    for word in words:
        if word.startswith("--"):
            key = word[2:].replace("-", "_")
            values[key] = True
        elif values.get(key) is True:
            values[key] = yaml.safe_load(word)
        else:
            values[key] = [
                *(values[key] if isinstance(values[key], list) else [values[key]]),
                yaml.safe_load(word),
            ]
    return values


def overrides(words: list[str]) -> dict[str, Any]:
    return {
        key.lstrip("+"): yaml.safe_load(value) for key, _, value in (word.partition("=") for word in words)
    }


def states(is_offloaded: bool, zero_stage: int) -> set[str]:
    """What FSDP2 keeps on the host if it keeps anything there."""
    if not is_offloaded:
        return set()
    return {"optimizer", "gradients"} | ({"weights"} if zero_stage == 3 else set())


def deepspeed(config: Files, plan: Plan, job: Job) -> None:
    zero = config["zero_optimization"]
    assert config["train_micro_batch_size_per_gpu"] == 1 and config["bf16"] == {"enabled": True}
    plan.zero_stage = zero["stage"]
    plan.tp_degree = config.get("tensor_parallel", {}).get("autotp_size", 1)
    plan.ep_degree = config.get("expert_parallel", {}).get("autoep_size", 1)
    plan.shards = zero.get("mics_shard_size", 0)
    plan.micro_batches = config.get("gradient_accumulation_steps")
    if "offload_optimizer" in zero:  # which reduces gradients to the host from stage 2 on
        plan.offload |= {"optimizer"} | ({"gradients"} if plan.zero_stage >= 2 else set())
    if "offload_param" in zero:
        plan.offload.add("weights")


def accelerate(config: Files, files: Files, plan: Plan, job: Job) -> None:
    assert config["num_processes"] == job.n_gpus
    sizes = {
        key.removeprefix("parallelism_config_"): n for key, n in config.get("parallelism_config", {}).items()
    }
    if config["distributed_type"] == "DEEPSPEED":
        deepspeed(files[config["deepspeed_config"]["deepspeed_config_file"]], plan, job)
        plan.sp_degree = sizes.get("sp_size", 1)
    elif config["distributed_type"] == "FSDP":
        fsdp = config["fsdp_config"]
        plan.zero_stage = 3 if fsdp["fsdp_reshard_after_forward"] else 2
        plan.offload |= states(fsdp["fsdp_offload_params"], plan.zero_stage)
        plan.tp_degree, plan.shards = sizes["tp_size"], sizes["dp_shard_size"]
        assert sizes["dp_replicate_size"] * plan.shards * plan.tp_degree == job.n_gpus
        plan.gc_layers = job.n_layers if fsdp.get("fsdp_activation_checkpointing") else 0
    else:
        assert config["distributed_type"] == "MULTI_GPU"
        plan.zero_stage = 0


def training_arguments(values: Files, files: Files, plan: Plan, job: Job) -> None:
    """Arguments of transformers and TRL, with the files that start them."""
    if "accelerate.yaml" in files:
        accelerate(files["accelerate.yaml"], files, plan, job)
    else:  # the model is loaded in shards
        degrees = files["distributed_config.json"]
        plan.zero_stage, plan.tp_degree, plan.ep_degree = 3, degrees["tp_size"], degrees["ep_size"]
        plan.shards = degrees["fsdp_size"]
        assert degrees["dp_replicate_size"] * plan.shards * plan.tp_degree == job.n_gpus
        plan.offload |= states(degrees["fsdp_cpu_offload"], 3)
    extra = values.get("activation_checkpointing_kwargs", {})
    if values.get("activation_checkpointing"):
        assert plan.gc_layers == 0, "transformers refuses checkpointing that both files say"
        plan.gc_layers = math.ceil(job.n_layers / extra.get("every_n_layers", 1))
    if extra.get("offload"):
        plan.offload.add("activations")
    assert values["per_device_train_batch_size"] == 1
    plan.micro_batches = values.get("gradient_accumulation_steps")
    plan.pack_tokens = values.get("max_length")  # none where rows are packs already


def transformers(files: Files, plan: Plan, job: Job) -> None:
    training_arguments(files["training_arguments.yaml"], files, plan, job)


def trl(files: Files, plan: Plan, job: Job) -> None:
    training_arguments(files["trl.yaml"], files, plan, job)


def loop(files: Files, plan: Plan, job: Job) -> None:
    """A loop of the user's own has the whole plan, which must not differ from what a library is told."""
    parallelism, (group,) = files["plan.json"]["parallelism"], files["plan.json"]["groups"]
    told = Plan()
    if "accelerate.yaml" in files:
        accelerate(files["accelerate.yaml"], files, told, job)
        assert told.shards in (0, parallelism["shard_degree"] or job.n_gpus // parallelism["tp_degree"])
    elif "deepspeed.json" in files:
        deepspeed(files["deepspeed.json"], told, job)
    if told.zero_stage >= 0:
        assert (told.zero_stage, told.tp_degree) == (parallelism["zero_stage"], parallelism["tp_degree"])
    for key in ("zero_stage", "tp_degree", "pp_degree", "virtual_stages", "ep_degree", "mlp_tiles"):
        setattr(plan, key, parallelism[key])
    for key in ("sp_degree", "cp_degree", "gc_layers"):
        setattr(plan, key, group[key])
    if plan.cp_degree > 1:
        plan.cp_exchange = parallelism["cp_exchange"]
    chunks = plan.pp_degree * plan.virtual_stages  # which checkpoint equally many layers
    plan.gc_layers = math.ceil(plan.gc_layers / chunks) * chunks
    plan.shards = parallelism["shard_degree"]
    words = parallelism["checkpointing"]
    plan.checkpointing = words if isinstance(words, str) else tuple(words)
    offload = parallelism["offload"]
    plan.offload = set([offload] if isinstance(offload, str) else offload) - {"none"}
    plan.pack_tokens = group["capacity_tokens"]


def axolotl(files: Files, plan: Plan, job: Job) -> None:
    values = files["axolotl.yaml"]
    assert values["micro_batch_size"] == 1
    if "deepspeed" in values:
        deepspeed(files[values["deepspeed"]], plan, job)
    elif "fsdp_config" in values:
        fsdp = values["fsdp_config"]
        plan.zero_stage = 3 if fsdp["reshard_after_forward"] else 2
        plan.offload |= states(fsdp["offload_params"], plan.zero_stage)
        plan.cp_degree, plan.tp_degree = (
            values.get("context_parallel_size", 1),
            values.get("tensor_parallel_size", 1),
        )
        if plan.cp_degree > 1:
            plan.cp_exchange = {"varlen_llama3": "all_gather_packs"}[values["ring_attn_func"]]
        plan.shards = values["dp_shard_size"] * plan.cp_degree
        plan.ep_degree = values.get("expert_parallel_size", 1)
        assert values["dp_replicate_size"] * plan.shards * plan.tp_degree == job.n_gpus
    else:
        plan.zero_stage = 0
    plan.gc_layers = job.n_layers if values["gradient_checkpointing"] else 0
    if values.get("activation_offloading"):
        plan.offload.add("activations")
    plan.mlp_tiles = values["tiled_mlp_num_shards"] if values.get("tiled_mlp") else 1
    plan.micro_batches, plan.pack_tokens = values["gradient_accumulation_steps"], values["sequence_len"]


def llama_factory(files: Files, plan: Plan, job: Job) -> None:
    values = files["llamafactory.yaml"]
    assert values["neat_packing"] and values["per_device_train_batch_size"] == 1
    if "accelerate.yaml" in files:
        accelerate(files["accelerate.yaml"], files, plan, job)
        assert values["disable_gradient_checkpointing"], "FSDP2's own file says it"
    elif "deepspeed" in values:
        deepspeed(files[values["deepspeed"]], plan, job)
    else:
        plan.zero_stage = 0
    if not values["disable_gradient_checkpointing"]:
        plan.gc_layers = job.n_layers
    if values.get("use_unsloth_gc"):
        plan.offload.add("activations")
    plan.micro_batches, plan.pack_tokens = values["gradient_accumulation_steps"], values["cutoff_len"]


def ms_swift(files: Files, plan: Plan, job: Job) -> None:
    values = arguments(files["swift.sh"])
    if "deepspeed" in values:
        deepspeed(files[values["deepspeed"]], plan, job)
        assert plan.tp_degree == values.get("deepspeed_autotp_size", 1)
    else:
        plan.zero_stage = 3 if values.get("fsdp") == "fsdp2" else 0
    gpus = values.get("sequence_parallel_size", 1)
    plan.sp_degree = math.gcd(job.n_kv_heads, gpus)
    plan.cp_degree = gpus // plan.sp_degree
    plan.gc_layers = job.n_layers if values["gradient_checkpointing"] else 0
    if values.get("callbacks") == "activation_cpu_offload":
        plan.offload.add("activations")
    plan.micro_batches, plan.pack_tokens = values["gradient_accumulation_steps"], values["packing_length"]


def megatron(values: Files, plan: Plan, job: Job) -> None:
    """Arguments of Megatron-LM, by whatever name its kin give them."""
    plan.tp_degree, plan.pp_degree = (
        values["tensor_model_parallel_size"],
        values["pipeline_model_parallel_size"],
    )
    assert values.get("sequence_parallel", False) == (plan.tp_degree > 1)
    plan.ep_degree = values.get("expert_model_parallel_size", 1)
    gpus, kind = values["context_parallel_size"], values.get("cp_comm_type")
    if kind == "a2a+p2p":
        plan.sp_degree, plan.cp_degree = values["hierarchical_context_parallel_sizes"]
    elif gpus > 1:
        plan.sp_degree, plan.cp_degree = (gpus, 1) if kind == "a2a" else (1, gpus)
        plan.cp_exchange = "all_gather" if kind == "all_gather" else "ring"
    if "num_layers_per_virtual_pipeline_stage" in values:
        plan.virtual_stages = (
            job.n_layers // values["num_layers_per_virtual_pipeline_stage"] // plan.pp_degree
        )
    plan.virtual_stages = values.get("virtual_pipeline_model_parallel_size", plan.virtual_stages)
    strategies = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
    if values.get("use_megatron_fsdp"):
        plan.zero_stage = strategies[values["data_parallel_sharding_strategy"]]
    else:
        plan.zero_stage = 1 if values.get("use_distributed_optimizer") else 0
    copies = job.n_gpus // plan.tp_degree // plan.pp_degree
    plan.shards = copies // values.get("num_distributed_optimizer_instances", 1)
    granularity = values.get("recompute_granularity")
    if granularity == "full":
        assert values["recompute_method"] == "block"
        plan.gc_layers = values["recompute_num_layers"] * plan.pp_degree * plan.virtual_stages
    elif granularity == "selective":
        modules = values.get("recompute_modules", "selective")
        plan.checkpointing = tuple(modules) if isinstance(modules, list) else modules
        plan.gc_layers = job.n_layers
    if values.get("optimizer_cpu_offload"):
        plan.offload.add("optimizer")


def of_step(packs: int, plan: Plan, job: Job) -> int:
    """The micro-batches of a rank that make the packs of a step."""
    n_ranks = job.n_gpus // (plan.tp_degree * plan.pp_degree * plan.sp_degree * plan.cp_degree)
    assert packs % n_ranks == 0
    return packs // n_ranks


def megatron_lm(files: Files, plan: Plan, job: Job) -> None:
    values = arguments(files["megatron.sh"])
    megatron(values, plan, job)
    assert values["micro_batch_size"] == 1
    plan.micro_batches, plan.pack_tokens = (
        of_step(values["global_batch_size"], plan, job),
        values["seq_length"],
    )


def megatron_swift(files: Files, plan: Plan, job: Job) -> None:
    values = arguments(files["megatron_swift.sh"])
    megatron(values, plan, job)
    plan.micro_batches, plan.pack_tokens = (
        of_step(values["global_batch_size"], plan, job),
        values["packing_length"],
    )


def last_names(values: Files) -> Files:
    return {key.rpartition(".")[2]: value for key, value in values.items()}


def megatron_bridge(files: Files, plan: Plan, job: Job) -> None:
    values = last_names(overrides(files["megatron_bridge.sh"]))
    megatron(values, plan, job)
    plan.micro_batches, plan.pack_tokens = (
        of_step(values["global_batch_size"], plan, job),
        values["seq_length"],
    )


def verl_megatron(files: Files, plan: Plan, job: Job) -> None:
    values = last_names(overrides(files["verl.sh"]))
    values["optimizer_cpu_offload"] = values.get("optimizer_offload", False)
    megatron(values, plan, job)
    plan.pack_tokens = values["max_token_len_per_gpu"]


def verl_fsdp(files: Files, plan: Plan, job: Job) -> None:
    values = overrides(files["verl.sh"])
    plan.zero_stage = 3 if values["engine.reshard_after_forward"] else 2
    plan.shards, plan.sp_degree = values["engine.fsdp_size"], values["engine.ulysses_sequence_parallel_size"]
    plan.offload |= states(values["engine.offload_policy"], plan.zero_stage)
    if values.get("model.enable_activation_offload"):
        plan.offload.add("activations")
    plan.gc_layers = job.n_layers if values["model.enable_gradient_checkpointing"] else 0
    plan.mlp_tiles = values.get("model.tiled_mlp.num_shards", 1)
    plan.pack_tokens = values["data.max_token_len_per_gpu"]


def torchtitan(files: Files, plan: Plan, job: Job) -> None:
    words = files["torchtitan.sh"]
    (policy,) = (word.partition(":")[2] for word in words if word.startswith("activation-checkpoint:"))
    values = arguments([word for word in words if not word.startswith("activation-checkpoint:")])
    degrees = {
        key.partition(".")[2]: value for key, value in values.items() if key.startswith("parallelism.")
    }
    plan.zero_stage = {"always": 3, "never": 2}[degrees["fsdp_reshard_after_forward"]]
    plan.tp_degree, plan.pp_degree = degrees["tensor_parallel_degree"], degrees["pipeline_parallel_degree"]
    plan.ep_degree, plan.cp_degree = degrees["expert_parallel_degree"], degrees["context_parallel_degree"]
    plan.shards = degrees["data_parallel_shard_degree"] * plan.cp_degree
    if plan.cp_degree > 1:
        assert degrees["spmd_backend"] == "spmd_types"
        plan.cp_exchange = {"ptrr": "all_gather"}[degrees["context_parallel_load_balancer"]]
    assert (
        degrees["data_parallel_replicate_degree"] * plan.shards * plan.tp_degree * plan.pp_degree
        == job.n_gpus
    )
    if plan.pp_degree > 1:
        assert degrees["pipeline_parallel_first_stage_less_layers"] == 0
        assert degrees["pipeline_parallel_last_stage_less_layers"] == 0
        plan.virtual_stages = job.n_layers // degrees["pipeline_parallel_layers_per_stage"] // plan.pp_degree
        schedule = "1F1B" if plan.virtual_stages == 1 else "Interleaved1F1B"
        assert degrees["pipeline_parallel_schedule"] == schedule
        assert values["training.local_batch_size"] == of_step(values["training.global_batch_size"], plan, job)
    else:
        assert values["training.local_batch_size"] == 1
    plan.gc_layers = 0 if policy == "none" else job.n_layers
    plan.checkpointing = "operations" if policy == "selective" else "full"
    plan.offload |= states(values.get("training.enable_cpu_offload", False), plan.zero_stage)
    plan.micro_batches = of_step(values["training.global_batch_size"], plan, job)
    plan.pack_tokens = values["training.seq_len"]


def nemo_automodel(files: Files, plan: Plan, job: Job) -> None:
    values = files["automodel.yaml"]
    degrees = values["distributed"]
    if degrees["strategy"] == "ddp":
        plan.zero_stage = 0
    else:
        plan.zero_stage = 3 if degrees["reshard_after_forward"] else 2
        plan.tp_degree, plan.pp_degree = degrees["tp_size"], degrees["pp_size"]
        plan.cp_degree, plan.ep_degree = degrees["cp_size"], degrees["ep_size"]
        plan.shards = job.n_gpus // plan.tp_degree // plan.pp_degree // degrees["dp_replicate_size"]
        plan.offload |= states("offload_policy" in degrees, plan.zero_stage)
    if plan.pp_degree > 1:
        plan.virtual_stages = job.n_layers // degrees["pipeline"]["layers_per_stage"] // plan.pp_degree
    mode = degrees["activation_checkpointing"]
    plan.gc_layers = job.n_layers if mode else 0
    plan.checkpointing = "operations" if mode == "selective" else "full"
    plan.micro_batches = of_step(values["step_scheduler"]["global_batch_size"], plan, job)
    plan.pack_tokens = values["packed_sequence"]["packed_sequence_size"]


def llm_foundry(files: Files, plan: Plan, job: Job) -> None:
    values = files["foundry.yaml"]
    fsdp = values["fsdp_config"]
    stages = {"NO_SHARD": 0, "SHARD_GRAD_OP": 2, "_HYBRID_SHARD_ZERO2": 2, "FULL_SHARD": 3, "HYBRID_SHARD": 3}
    plan.zero_stage = stages[fsdp["sharding_strategy"]]
    plan.shards = fsdp.get("data_parallel_shard_degree", 0)
    plan.tp_degree = values.get("tp_config", {}).get("tensor_parallel_degree", 1)
    plan.ep_degree = values.get("model", {}).get("ffn_config", {}).get("moe_world_size", 1)
    plan.gc_layers = job.n_layers if fsdp["activation_checkpointing"] else 0
    if fsdp.get("activation_cpu_offload"):
        plan.offload.add("activations")
    plan.offload |= states(fsdp["cpu_offload"], plan.zero_stage)
    plan.micro_batches = of_step(values["global_train_batch_size"], plan, job)
    plan.pack_tokens = values["max_seq_len"]


def xtuner(files: Files, plan: Plan, job: Job) -> None:
    values = files["xtuner.yaml"]
    fsdp = values["fsdp_cfg"]
    plan.zero_stage = 3 if fsdp["reshard_after_forward"] else 2
    plan.sp_degree, plan.ep_degree = values["sp_size"], fsdp["ep_size"]
    plan.shards = fsdp.get("hsdp_sharding_size", 0)
    plan.gc_layers = round(fsdp["recompute_ratio"] * job.n_layers)
    if values.get("optim_cfg", {}).get("swap_optimizer"):
        plan.offload.add("optimizer")
    if "XTUNER_ACTIVATION_OFFLOAD=1" in files.get("environment.sh", []):
        plan.offload.add("activations")
    plan.micro_batches = of_step(values["global_batch_size"], plan, job)
    plan.pack_tokens = values["dataloader_cfg"]["pack_max_length"]


def unsloth(files: Files, plan: Plan, job: Job) -> None:
    values = files["unsloth.json"]
    plan.zero_stage = 0
    plan.gc_layers = job.n_layers if values["use_gradient_checkpointing"] else 0
    if values["use_gradient_checkpointing"] == "unsloth":
        plan.offload.add("activations")
    plan.mlp_tiles = None if values["unsloth_tiled_mlp"] else 1
    plan.micro_batches, plan.pack_tokens = (
        files["trl.yaml"]["gradient_accumulation_steps"],
        values["max_seq_length"],
    )


def arctic_training(files: Files, plan: Plan, job: Job) -> None:
    values = files["arctic.yaml"]
    zero = values["deepspeed"]["zero_optimization"]
    whole = {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": zero}
    deepspeed(whole, plan, job)
    plan.sp_degree, plan.ep_degree = values["sequence_parallel_size"], values.get("expert_parallel_size", 1)
    plan.gc_layers = 0 if values["model"]["disable_activation_checkpoint"] else job.n_layers
    if values.get("activation_checkpoint_cpu_offload"):
        plan.offload.add("activations")
    plan.mlp_tiles = None if values["tiled_mlp_compute"] else 1
    plan.micro_batches, plan.pack_tokens = values["gradient_accumulation_steps"], values["data"]["max_length"]


READERS: dict[str, Callable[[Files, Plan, Job], None]] = {
    "accelerate": loop,
    "any": loop,
    "arctic-training": arctic_training,
    "axolotl": axolotl,
    "deepspeed": loop,
    "hbp": loop,
    "llama-factory": llama_factory,
    "llm-foundry": llm_foundry,
    "megatron-bridge": megatron_bridge,
    "megatron-lm": megatron_lm,
    "megatron-swift": megatron_swift,
    "ms-swift": ms_swift,
    "nemo-automodel": nemo_automodel,
    "torchtitan": torchtitan,
    "transformers": transformers,
    "trl": trl,
    "unsloth": unsloth,
    "verl-fsdp": verl_fsdp,
    "verl-megatron": verl_megatron,
    "xtuner": xtuner,
}
