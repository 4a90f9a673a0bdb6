"""Small random jobs that vary everything a scenario can say. The same seed and index always give the same job."""

import copy
import random
import re

LENGTHS = ["gpteacher.csv", "gsm8k.csv", "longcite_like_2k.csv", "math_tora.csv", "mixture_real_long_2k.csv",
           "mixture_real_short.csv", "qmsum.csv", "t0_p3.csv", "mooncake_conversation.csv"]
DENSE_MODELS = ["llama3.1-8b", "qwen2.5-7b", "llama3.1-70b", "gemma-3-27b", "phi-4"]
EXPERT_MODELS = ["deepseek-v2", "gpt-oss-20b", "mixtral-8x7b"]
CLUSTERS = ["h100-sxm-80gb", "h100-sxm-80gb", "a100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "l40s-48gb"]
PROFILES = ["deepspeed-ulysses-h100", "any-framework-h100", "nemo-megatron-h100", "pytorch-h100",
            "torchtitan-fsdp2-a100", "fsdp-qlora-rtx4090"]
PACKERS = ["none", "random", "sorted", "isf", "ffd", "ffs", "bfd", "bfs", "spfhp", "lpfhp", "wrapped", "trl_bfd",
           "axolotl_multipack", "nemo_ffs", "longalign"]
ITERATION_FORMERS = ["longalign_sorted", "wlb", "megatron_dp_balanced", "verl_kk", "slime_kk", "prime_rl", "trl_lpt"]
GROUPED = ["hbp", "megatron_hybrid_cp", "megatron_dynamic_cp"]
GROUP_CHOOSERS = ["planner", "flexsp"]


class Draw:
    """Draws settings; each is left out in most jobs, so that many jobs are possible."""

    def __init__(self, rng):
        self.rng = rng

    def maybe(self, into, key, values, probability=0.2):
        if self.rng.random() < probability:
            into[key] = self.rng.choice(values)


def _parallelism(draw, has_experts):
    plan = {}
    draw.maybe(plan, "tp_degree", [1, 2, 4, 8])
    draw.maybe(plan, "pp_degree", [2, 4])
    if "pp_degree" in plan:
        draw.maybe(plan, "virtual_stages", [1, 2])
        draw.maybe(plan, "pipeline_schedule", ["1f1b", "interleaved", "gpipe"], 0.3)
    if has_experts:
        draw.maybe(plan, "ep_degree", [2, 4, 8], 0.5)
        draw.maybe(plan, "expert_dispatch", ["all_to_all", "deduplicated"])
        draw.maybe(plan, "expert_imbalance", [1.0, 1.3])
        draw.maybe(plan, "latent_exchange", [True, False])
    draw.maybe(plan, "shard_degree", [0, 2, 8])
    draw.maybe(plan, "ring_layout", ["contiguous", "zigzag"])
    draw.maybe(plan, "cp_exchange", ["ring", "all_gather", "all_gather_packs"])
    draw.maybe(plan, "checkpointing", ["full", "selective", "operations"])
    draw.maybe(plan, "offload", ["optimizer", ["optimizer", "gradients"], "activations", ["weights", "activations"]], 0.1)
    draw.maybe(plan, "lora_rank", [8, 64], 0.1)
    if "lora_rank" in plan:
        draw.maybe(plan, "frozen_weights", ["bf16", "nf4"], 0.5)
    draw.maybe(plan, "precision", ["bf16", "fp8_delayed", "fp8_block"], 0.1)
    draw.maybe(plan, "uneven_heads", [True, False], 0.1)
    draw.maybe(plan, "mlp_tiles", [2, 8], 0.1)
    draw.maybe(plan, "loss_tiles", [4], 0.1)
    draw.maybe(plan, "launch_s", [0, 5e-6, 3e-5], 0.1)
    for flag in ["overlaps_states", "overlaps_gather", "overlaps_tensor", "fp32_gradients", "recompute_stops_early",
                 "plain_gradients"]:
        draw.maybe(plan, flag, [True, False], 0.15)
    draw.maybe(plan, "bucket_elements", [10_000_000, 500_000_000], 0.15)
    return plan


def _policies(draw, into):
    draw.maybe(into, "over_long", ["error", "drop", "truncate", "split", "own_pack"], 0.5)
    draw.maybe(into, "empty", ["drop", "keep"], 0.1)
    draw.maybe(into, "window_samples", [0, 100, 500], 0.1)
    draw.maybe(into, "padding", ["none", "longest", "capacity", "multiple"], 0.2)
    if into.get("padding") == "multiple":
        into["pad_multiple_tokens"] = draw.rng.choice([64, 256])
    draw.maybe(into, "attention", ["within_samples", "across_samples"], 0.1)
    draw.maybe(into, "order", ["shuffled", "neighbours", "balanced", "as_packed"], 0.15)
    draw.maybe(into, "last_iteration", ["drop", "repeat", "shorten"], 0.3)
    draw.maybe(into, "curriculum_iterations", [1, 2], 0.1)
    draw.maybe(into, "repack_each_epoch", [True], 0.15)
    draw.maybe(into, "micro_batches_per_rank", [1, 2, 3], 0.15)


def _strategy(draw, name, capacity, gpus):
    rng = draw.rng
    strategy = {"strategy": name}
    degrees = [d for d in [1, 1, 2, 4, 8] if d <= gpus]
    if name in GROUPED:
        strategy["groups"] = [{"capacity_tokens": max(1024, capacity // 4), "sp_degree": 1},
                              {"capacity_tokens": capacity, "sp_degree": rng.choice([1, 2, 4, 8])}]
        if rng.random() < 0.2:
            strategy["groups"][1]["cp_degree"] = 2
    elif name == "planner":
        draw.maybe(strategy, "window_iterations", [0, 4])
        draw.maybe(strategy, "zero_stages", [[1, 3], [1, 2, 3]])
    elif name == "flexsp":
        strategy["groups"] = [{"capacity_tokens": capacity // 2, "sp_degree": 1},
                              {"capacity_tokens": capacity, "sp_degree": 2}]
        strategy["solve_s"] = 0.5
    else:
        strategy |= {"capacity_tokens": capacity, "sp_degree": rng.choice(degrees)}
        draw.maybe(strategy, "cp_degree", [2], 0.1)
        draw.maybe(strategy, "gc_layers", ["auto", 0, 8, 32], 0.3)
        if name in ("none", "sorted"):
            draw.maybe(strategy, "batch_samples", [1, 4], 0.4)
        if name not in ("none", "sorted", "wrapped") and rng.random() < 0.04:
            strategy["plan"] = "auto"
            del strategy["sp_degree"]
            strategy.pop("cp_degree", None)
            strategy.pop("gc_layers", None)
    draw.maybe(strategy, "zero_stage", [0, 1, 2, 3], 0.1)
    return strategy


def random_job(seed, index):
    """The scenario of this index, as a dict, and the further arguments of `packsim run` or `compare`."""
    rng = random.Random(f"{seed}/{index}")
    draw = Draw(rng)
    has_experts = rng.random() < 0.25
    nodes = rng.choice([1, 1, 1, 2, 4])
    capacity = rng.choice([4096, 8192, 16384, 32768])
    per_node = 8
    cluster = {"type": rng.choice(CLUSTERS), "nodes": nodes}
    draw.maybe(cluster, "gpus_per_node", [2, 4, 8], 0.2)
    per_node = cluster.get("gpus_per_node", 8)
    gpus = nodes * per_node
    job = {
        "format": 1,
        "name": f"random-{index}",
        "description": "",
        "seed": rng.randrange(1000),
        "model": rng.choice(EXPERT_MODELS if has_experts else DENSE_MODELS),
        "cluster": cluster,
        "profile": rng.choice(PROFILES),
        "training": {"tokens_per_iteration": capacity * gpus * rng.choice([1, 1, 2, 4]),
                     "epochs": rng.choice([1, 1, 2, 3]), "zero_stage": rng.choice([0, 1, 1, 2, 3, 3])},
        "lengths": {"mix": [{"source": source, "count": rng.choice([200, 500, 900])}
                            for source in rng.sample(LENGTHS, rng.choice([1, 2]))], "with_replacement": True},
    }
    packing = {"over_long": rng.choice(["drop", "drop", "truncate", "split"])}
    _policies(draw, packing)
    job["packing"] = packing
    job["parallelism"] = _parallelism(draw, has_experts)
    if rng.random() < 0.1:
        job["variability"] = {"rank_spread": 0.02, "kernel_spread": rng.choice([0.0, 0.05]), "seed": 3}
    if rng.random() < 0.1:
        job["what_if"] = {"free": rng.choice(["sequence", "waiting", "states", ["tensor", "pipeline"], "expert"])}
    if rng.random() < 0.1:
        job["training"]["epochs"] = 1
        job["mixing"] = {"policy": rng.choice(["static", "uniform", "temperature"]), "update_every_steps": 2,
                         "draws": 400}
    names = rng.sample(PACKERS, 2) + rng.sample(ITERATION_FORMERS, rng.choice([0, 1])) + \
        rng.sample(GROUPED, rng.choice([0, 1])) + rng.sample(GROUP_CHOOSERS, 1 if rng.random() < 0.25 else 0)
    if "mixing" in job:
        job.pop("packing")
        names = ["isf", "ffd"]
    job["strategies"] = [_strategy(draw, name, capacity, gpus) for name in names]
    job["baseline"] = names[0]
    return job, (["--level", "op"] if rng.random() < 0.1 else [])


def repaired(job, error):
    """The job without the settings that an error names, or None where it names none that can go."""
    job = copy.deepcopy(job)
    changed = False
    for path in re.findall(r"SCENARIO: (/[^:]*):", error):
        *parents, key = path.strip("/").split("/")
        holder = job
        try:
            for parent in parents:
                holder = holder[int(parent)] if isinstance(holder, list) else holder[parent]
            if key in ("sp_degree", "cp_degree") and holder[key] != 1:
                holder[key] = 1
            elif isinstance(holder, dict) and key not in ("capacity_tokens", "strategy", "groups"):
                del holder[key]
            elif isinstance(holder, list) and len(holder) > 1:
                del holder[int(key)]
                job.pop("baseline", None)
            else:
                continue
            changed = True
        except (KeyError, IndexError, TypeError, ValueError):
            if "parallelism" in job:
                del job["parallelism"]
                changed = True
    return job if changed else None
