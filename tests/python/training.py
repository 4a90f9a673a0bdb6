"""Gradients of plans: as processes train them, and of each sample on its own."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from training_cases import VOCABULARY, token_ids

import packsim
from packsim.torch import PackedBatch, PlanLoader, SequenceGroups, weighted_loss

from tiny_llama import Config, TinyLlama  # isort: skip

CONFIG = Config(vocabulary=VOCABULARY)
# Threads that wait for each other in operations this small take longer than the operations.
torch.set_num_threads(1)


def model() -> TinyLlama:
    """Of float64, so that what differs is wrong and not rounded."""
    return TinyLlama(CONFIG, seed=1, dtype=torch.float64)


def flat_gradient(of: torch.nn.Module) -> Tensor:
    return torch.cat([p.grad.flatten() for p in of.parameters() if p.grad is not None])


def logits_of(of: torch.nn.Module, batch: PackedBatch, group: Any = None) -> Tensor:
    names = ("input_ids", "position_ids", "cu_seqlens", "attention_mask")
    logits: Tensor = of(**{name: batch[name] for name in names if name in batch}, group=group)
    return logits


def packed_gradients(
    plan_bytes: bytes, lengths: list[int], n_iterations: int, normalisers: list[str], shares_packs: bool
) -> dict[str, list[Any]]:
    """In a process of a group: the gradient that DistributedDataParallel leaves behind each iteration."""
    given = packsim.Plan.from_bytes(plan_bytes)
    data = token_ids(lengths)
    parallel = DistributedDataParallel(model())
    groups = SequenceGroups(given) if shares_packs else None
    gradients: dict[str, list[Any]] = {}
    for normaliser in normalisers:
        plan = given.with_normaliser(normaliser)
        gradients[normaliser] = []
        for _, step in zip(range(n_iterations), PlanLoader(plan, data).steps(), strict=False):
            parallel.zero_grad()
            for batch in step:
                loss_of = shared_loss if groups is not None else alone_loss
                with nullcontext() if batch.is_last else parallel.no_sync():
                    loss_of(parallel, batch, groups).backward()
            gradients[normaliser].append(flat_gradient(parallel).numpy())
    if groups is not None:
        for group in groups._groups.values():
            if group is not dist.GroupMember.NON_GROUP_MEMBER:
                dist.destroy_process_group(group)
    return gradients


def alone_loss(parallel: torch.nn.Module, batch: PackedBatch, _: None) -> Tensor:
    logits = logits_of(parallel, batch)
    n_averaged = dist.get_world_size()
    return weighted_loss(logits, batch["labels"], batch["loss_weights"], averaged_over=n_averaged)


def shared_loss(parallel: torch.nn.Module, batch: PackedBatch, groups: SequenceGroups) -> Tensor:
    group = groups.of(batch.micro_batch)
    part = groups.shard(batch, group)
    return weighted_loss(
        logits_of(parallel, part, group),
        part["shift_labels"],
        part["shift_loss_weights"],
        averaged_over=dist.get_world_size(),
        is_shifted=True,
    )


@cache
def piece_gradient(lengths: tuple[int, ...], sample: int, start: int, n_tokens: int) -> Any:
    """Of the sum of a piece's token losses, trained on its own."""
    alone = model()
    ids = torch.from_numpy(_data(lengths)[sample][start : start + n_tokens])[None]
    logits = alone(ids, torch.arange(n_tokens)[None])
    losses = torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:], reduction="sum")
    losses.backward()
    return flat_gradient(alone).numpy()


@cache
def _data(lengths: tuple[int, ...]) -> Any:
    return token_ids(list(lengths))


def unpacked_gradient(
    plan: packsim.Plan, lengths: list[int], iteration: int, weights: list[list[float]]
) -> Any:
    """The sum of weight times gradient over the pieces of an iteration. weights: [n_packs][n_pieces]."""
    total = np.zeros_like(piece_gradient(tuple(lengths), 0, 0, max(1, lengths[0])))
    for micro_batch, of_pack in zip(plan.micro_batches(iteration), weights, strict=True):
        pieces = zip(
            micro_batch.samples.tolist(),
            micro_batch.starts_tokens.tolist(),
            micro_batch.tokens.tolist(),
            of_pack,
            strict=True,
        )
        for sample, start, n_tokens, weight in pieces:
            if n_tokens > 1:
                total = total + weight * piece_gradient(tuple(lengths), sample, start, n_tokens)
    return total


def defined_weights(plan: packsim.Plan, iteration: int, normaliser: str) -> list[list[float]]:
    """What a token of each piece weighs by the definition of a normaliser, for packs on one or more GPUs."""
    packs = plan.micro_batches(iteration)
    loss_tokens = [[int(n) for n in pack.loss_tokens] for pack in packs]
    n_tokens = sum(map(sum, loss_tokens))
    n_samples = sum(n > 0 for pack in loss_tokens for n in pack)
    n_packs = np.zeros(plan.n_gpus)
    for pack in packs:
        n_packs[pack.first_gpu : pack.first_gpu + pack.group.n_gpus] += 1
    weights = []
    for pack, of_pack in zip(packs, loss_tokens, strict=True):
        # The mean over the packs of a GPU, then over GPUs.
        gpus = slice(pack.first_gpu, pack.first_gpu + pack.group.n_gpus)
        share = (1 / n_packs[gpus]).sum() / plan.n_gpus
        n_with_loss = sum(n > 0 for n in of_pack)
        weight_of = {
            "stable": lambda n: 1 / n_tokens,
            "token_mean": lambda n, s=share, p=of_pack: s / sum(p),
            "sample_mean": lambda n, s=share, m=n_with_loss: s / (m * n),
            "longalign": lambda n: 1 / (n_samples * n),
            "sum": lambda n: 1,
        }[normaliser]
        weights.append([weight_of(n) if n else 0.0 for n in of_pack])
    return weights


def misplaced_fraction(plan: packsim.Plan, normaliser: str) -> float:
    """Half the sum over tokens of the difference between their share of the weight and an equal one."""
    fractions = []
    for iteration in range(plan.n_iterations):
        loss_tokens = np.concatenate([pack.loss_tokens for pack in plan.micro_batches(iteration)])
        weights = np.concatenate(defined_weights(plan, iteration, normaliser))
        if loss_tokens.sum() == 0:
            continue
        shares = weights / (weights * loss_tokens).sum()
        fractions.append((loss_tokens * np.abs(shares - 1 / loss_tokens.sum())).sum() / 2)
    return float(np.mean(fractions))
