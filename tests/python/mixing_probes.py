"""What tests of rewards and scores share: a small data set, a mixture of it, and naive measurements."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from training_cases import VOCABULARY, token_ids

from packsim.torch import CheckpointedLayers
from packsim.torch.mixing import HboRewards

from tiny_llama import Config, TinyLlama  # isort: skip

torch.set_num_threads(1)

NAMES = ["maths", "code", "web"]
N_GROUPS = [2, 1, 3]
N_OF_GROUP = 9
_ARMS = [(subset, group) for subset, n in enumerate(N_GROUPS) for group in range(n)]


class FakeMixture:
    """Arms of nine samples each, one after another; probes are drawn with replacement."""

    def __init__(self, n_updates: int = 0) -> None:
        self.names, self.n_groups, self.n_updates = NAMES, N_GROUPS, n_updates

    def probe_samples(self, subset: int, group: int, n: int, purpose: int) -> Any:
        draws = np.random.default_rng([self.n_updates, subset, group, purpose])
        return _ARMS.index((subset, group)) * N_OF_GROUP + draws.integers(0, N_OF_GROUP, n)


def samples() -> list[dict[str, Any]]:
    """With prompts, which have no labels. The last one of each group has one token, and so no loss."""
    lengths = np.random.default_rng(3).integers(6, 40, len(_ARMS) * N_OF_GROUP)
    lengths[N_OF_GROUP - 1 :: N_OF_GROUP] = 1
    made = []
    for sample, ids in enumerate(token_ids(lengths)):
        labels = ids.copy()
        labels[: sample % 4] = -100
        made.append({"input_ids": ids, "labels": labels})
    return made


class Augmented(list[Any]):
    """Samples whose reading draws random numbers of every kind, and makes nothing of them."""

    def __getitem__(self, index: Any) -> Any:
        random.random(), np.random.rand(), torch.rand(1)
        return super().__getitem__(index)


def lengths_of(data: list[dict[str, Any]]) -> list[int]:
    return [len(sample["input_ids"]) for sample in data]


class WithDropout(torch.nn.Module):
    """The small Llama in float64, so that what differs is wrong and not rounded; dropout before its head."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__()
        self.llama = TinyLlama(Config(vocabulary=VOCABULARY), seed=seed, dtype=torch.float64)
        self.llama.norm = torch.nn.Sequential(self.llama.norm, torch.nn.Dropout(0.5))

    def forward(self, input_ids: Any, position_ids: Any, cu_seqlens: Any = None) -> Any:
        return self.llama(input_ids, position_ids, cu_seqlens)


def rewards_of(model: Any, n_updates: int = 0, **more: Any) -> HboRewards:
    data = more.pop("data", samples())
    options = {"gradient_samples": 3, "perplexity_samples": 4, "pool_samples": 8, "capacity_tokens": 96}
    options |= {"lengths_tokens": lengths_of(data)} | more
    return HboRewards(model, data, FakeMixture(n_updates), **options)


def loss_alone(model: Any, sample: dict[str, Any]) -> tuple[Any, int]:
    """The sum of a sample's losses, from a batch of it alone, and how many there are."""
    ids, labels = (torch.from_numpy(sample[name])[None] for name in ("input_ids", "labels"))
    logits = model(ids, torch.arange(ids.shape[1])[None])
    losses = functional.cross_entropy(logits[0, :-1], labels[0, 1:], reduction="sum", ignore_index=-100)
    return losses, int((labels[0, 1:] != -100).sum())


def norm_of(loss: Any, model: Any) -> float:
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return float(torch.cat([gradient.flatten() for gradient in gradients]).norm())


def naive_subset_rewards(model: Any, n_updates: int, gradient_samples: int, of_batch: bool) -> list[float]:
    """One sample after another, in batches of one."""
    data, mixture, rewards = samples(), FakeMixture(n_updates), []
    for subset, n_groups in enumerate(N_GROUPS):
        norms, batch, n_labels = [], [], 0
        for group in range(n_groups):
            for index in mixture.probe_samples(subset, group, gradient_samples, 1):
                loss, n = loss_alone(model, data[index])
                if n and not of_batch:
                    norms.append(norm_of(loss / n, model))
                if n:
                    batch.append(loss)
                    n_labels += n
        rewards.append(norm_of(sum(batch) / n_labels, model) if of_batch else float(np.mean(norms)))
    return rewards


def perplexity(model: Any, index: int) -> float:
    sample = samples()[index]
    return perplexity_of(model, sample["input_ids"], sample["labels"])


def perplexity_of(model: Any, ids: Any, labels: Any) -> float:
    with torch.no_grad():
        loss, n = loss_alone(model, {"input_ids": ids, "labels": labels})
    return float(torch.exp(loss / n))


def measured(placement: str, gradient_of: str) -> dict[str, Any]:
    """In a process of a group: rewards behind a change of the model, and what they took."""
    model = DistributedDataParallel(WithDropout())
    rewards = rewards_of(model, placement=placement, gradient_of=gradient_of)
    rewards.begin()
    changed(model.module)
    subsets, groups = rewards.measure(step=200)
    return {
        "subsets": subsets,
        "groups": groups,
        "passes": vars(rewards.passes),
        "state": rewards.state_dict(),
    }


def changed(model: Any) -> None:
    """As by training."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)


def trained(measures: bool, recomputed: int) -> list[Any]:
    """In a process of a group: gradients of three steps with dropout, with rewards measured in each or not.

    They are measured between the micro-batches of a step, where gradients are half added up.
    """
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    model = WithDropout()
    CheckpointedLayers(model.llama.layers, recomputed)
    parallel = DistributedDataParallel(model)
    rewards = rewards_of(parallel, data=Augmented(samples()))
    data, rank = samples(), dist.get_rank()
    seen: list[Any] = []
    for step in range(3):
        parallel.zero_grad()
        model.llama.layers[0].eval()  # a mode of its own, which must come back
        for turn in range(2):
            ids = torch.from_numpy(data[step * 4 + turn * 2 + rank]["input_ids"])[None]
            parallel.require_backward_grad_sync = turn == 1
            logits = parallel(ids, torch.arange(ids.shape[1])[None])
            functional.cross_entropy(logits[0, :-1], ids[0, 1:]).backward()
            if measures and turn == 0:
                before = [parameter.grad.clone() for parameter in model.parameters()]
                rewards.measure(step)
                for parameter, gradient in zip(model.parameters(), before, strict=True):
                    assert (parameter.grad == gradient).all()
        seen.append(torch.cat([p.grad.flatten() for p in model.parameters()]).numpy())
        seen.append([module.training for module in parallel.modules()])
        seen.append([*torch.rand(3).tolist(), random.random(), float(np.random.rand())])
    return seen


def failed_on_one_rank() -> str:
    """In a process of a group: what each says where the forward pass of rank 1 fails."""

    def forward(model: Any, batch: Any) -> Any:
        if dist.get_rank() == 1:
            raise MemoryError("no memory on this one")
        return model(batch["input_ids"], batch["position_ids"], batch["cu_seqlens"])

    try:
        rewards_of(WithDropout(), forward=forward).begin()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def cached(path: str) -> dict[str, Any]:
    """In a process of a group: the start of two runs, of which the second one finds what the first kept."""
    first = rewards_of(WithDropout(), cache=path)
    first.begin()
    second = rewards_of(WithDropout(), cache=path)
    second.begin()
    other = rewards_of(WithDropout(seed=2), cache=path)
    other.begin()
    return {
        "states": [rewards.state_dict() for rewards in (first, second, other)],
        "passes": [rewards.passes.forward_passes for rewards in (first, second, other)],
    }


def refusal_of_fully_shard() -> str:
    """In a process of a group: what is said of a model of FSDP2."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = WithDropout()
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    try:
        rewards_of(model)
    except ValueError as error:
        return str(error)
    return "nothing"
