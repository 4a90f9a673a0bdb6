"""Streams that several processes train: their data, their batches, their gradients."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import training
from torch.nn.parallel import DistributedDataParallel
from training_cases import VOCABULARY, drawn_lengths

from packsim.stream_sources import MixedSource
from packsim.torch import StreamCollator, StreamDataset, StreamLoader, merge_stream_states

CAPACITY_TOKENS = 64
N_SHARDS = 8


def samples_of(shard_index: int) -> list[dict[str, list[int]]]:
    """Sample i of shard s begins with the token s, and has some labels without loss. Shards are unequal."""
    n_samples = [40, 22, 0, 31, 18, 37, 3, 26][shard_index]
    draw = np.random.default_rng(shard_index)
    samples = []
    for n_tokens in drawn_lengths(n_samples, shard_index, longest_tokens=90).tolist():
        ids = draw.integers(1, VOCABULARY, n_tokens)
        labels = np.where(draw.random(n_tokens) < 0.3, -100, ids)
        samples.append({"input_ids": ids.tolist(), "labels": labels.tolist()})
    return samples


def open_shard(shard_index: int, n_shards: int, start_sample: int) -> Iterator[dict[str, list[int]]]:
    return iter(samples_of(shard_index)[start_sample:])


def n_tokens_of(sample: dict[str, list[int]]) -> int:
    return len(sample["input_ids"])


def dataset_of(rank: int, world_size: int, **more: Any) -> StreamDataset:
    arguments: dict[str, Any] = {
        "n_shards": N_SHARDS,
        "length_of": n_tokens_of,
        "collator": StreamCollator(normaliser=more.pop("normaliser", "stable")),
        "strategy": "bfd",
        "capacity_tokens": CAPACITY_TOKENS,
        "window_samples": 12,
        "over_long": "truncate",
    }
    return StreamDataset(
        more.pop("open_shard", open_shard), rank=rank, world_size=world_size, **(arguments | more)
    )


def loader_of(num_workers: int, **more: Any) -> StreamLoader:
    """In a process of a group, whose own way to start workers would have each of them import PyTorch anew."""
    dataset = dataset_of(dist.get_rank(), dist.get_world_size(), normaliser=more.pop("normaliser"))
    if num_workers > 0:
        more["multiprocessing_context"] = "fork"
    return StreamLoader(dataset, num_workers=num_workers, **more)


Seen = tuple[Any, ...]


def seen(batch: Any) -> Seen:
    """All of a batch that training depends on, and its place."""
    micro_batch = batch.micro_batch
    tensors = tuple(
        tuple(batch[name].flatten().tolist())
        for name in ("input_ids", "labels", "loss_weights", "position_ids", "cu_seqlens")
    )
    place = (micro_batch.shard_index, tuple(micro_batch.samples.tolist()), micro_batch.round, batch.is_last)
    return (*place, tensors)


def check_every_sample_once(ranks: list[list[Any]]) -> None:
    found = sorted((batch[0], i) for rank in ranks for batch in rank for i in batch[1])
    assert found == [(shard, i) for shard in range(N_SHARDS) for i in range(len(samples_of(shard)))]


def loss_tokens_of(shard: int, sample: int) -> int:
    return sum(label != -100 for label in samples_of(shard)[sample]["labels"][1:CAPACITY_TOKENS])


def check_weights(ranks: list[list[Any]], normaliser: str) -> None:
    """By the words of each normaliser, of every step."""
    ends = [i + 1 for i, batch in enumerate(ranks[0]) if batch[3]]
    assert all(ends == [i + 1 for i, batch in enumerate(rank) if batch[3]] for rank in ranks)
    assert ends[-1] == len(ranks[0])
    for begin, end in zip([0, *ends], ends, strict=False):
        losses = [[[loss_tokens_of(b[0], i) for i in b[1]] for b in rank[begin:end]] for rank in ranks]
        every = [n for rank in losses for pack in rank for n in pack]
        for rank, of_rank in zip(ranks, losses, strict=True):
            n_packs = sum(bool(pack) for pack in of_rank)
            for batch, pack in zip(rank[begin:end], of_rank, strict=True):
                weights = np.array(batch[4][2])
                bounds = batch[4][4]
                for document, n in enumerate(pack):
                    own = weights[bounds[document] : bounds[document + 1]]
                    share = 1 / n_packs / len(ranks)
                    expected = (
                        n
                        and {
                            "stable": 1 / sum(every),
                            "token_mean": share / sum(pack),
                            "sample_mean": share / sum(k > 0 for k in pack) / n,
                            "longalign": 1 / sum(k > 0 for k in every) / n,
                            "sum": 1.0,
                        }[normaliser]
                    )
                    assert np.count_nonzero(own) == n
                    assert (own[own > 0] == np.float32(expected)).all()


def whole_run(micro_batches_per_step: int, normaliser: str, num_workers: int = 0) -> list[Seen]:
    """In a process of a group: one epoch."""
    loader = loader_of(num_workers, micro_batches_per_step=micro_batches_per_step, normaliser=normaliser)
    return [seen(batch) for batch in loader]


def run_that_fails_on(failing_rank: int, num_workers: int) -> tuple[int, str]:
    """In a process of a group: an epoch in which one rank meets a sample that is refused."""

    def with_mistake(shard_index: int, n_shards: int, start_sample: int) -> Iterator[dict[str, list[int]]]:
        samples = samples_of(shard_index)
        if shard_index == failing_rank:
            samples[20]["labels"] = []
        return iter(samples[start_sample:])

    more = {"multiprocessing_context": "fork"} if num_workers else {}
    dataset = dataset_of(dist.get_rank(), dist.get_world_size(), open_shard=with_mistake)
    loader = StreamLoader(dataset, num_workers=num_workers, agree_every_steps=1, **more)
    n_batches = 0
    try:
        for _ in loader:
            n_batches += 1
    except (ValueError, RuntimeError) as error:
        return n_batches, str(error)
    return n_batches, ""


def run_whose_rest_fails_on(failing_rank: int) -> str:
    """In a process of a group: what is said where an optimizer step is begun, resumed, and one rank fails."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    loader = StreamLoader(dataset_of(rank, world_size), micro_batches_per_step=3)
    next(iter(loader))
    state = loader.gathered_state_dict()

    def gone(shard_index: int, n_shards: int, start_sample: int) -> Iterator[dict[str, list[int]]]:
        raise OSError("the disk is gone")

    dataset = dataset_of(rank, world_size, open_shard=gone if rank == failing_rank else open_shard)
    resumed = StreamLoader(dataset, micro_batches_per_step=3)
    resumed.load_state_dict(state)
    try:
        for _ in range(2):  # the rest of the step
            next(iter(resumed))
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""


def run_with_arguments(name: str, values: list[int]) -> str:
    """In a process of a group: what is said where each rank has another value of an argument."""
    rank = dist.get_rank()
    of_stream = {name: values[rank]} if name == "capacity_tokens" else {}
    of_loader = {} if of_stream else {name: values[rank]}
    loader = StreamLoader(dataset_of(rank, dist.get_world_size(), **of_stream), **of_loader)
    try:
        next(iter(loader))
    except RuntimeError as error:
        return str(error)
    return ""


def run_with_own_group(micro_batches_per_step: int) -> list[Seen]:
    """In a process of a group: one epoch, whose ranks agree by another group than the default one."""
    group = dist.new_group(backend="gloo")
    loader = loader_of(0, micro_batches_per_step=micro_batches_per_step, normaliser="stable", group=group)
    batches = [seen(batch) for batch in loader]
    assert loader.gathered_state_dict()["epoch"] == 1
    dist.destroy_process_group(group)
    return batches


def interrupted_run(micro_batches_per_step: int, normaliser: str, seed: int, is_merged: bool) -> list[Seen]:
    """In a process of a group: one epoch, killed at random micro-batches, each time with other workers."""
    draw = random.Random(seed)  # the same on all ranks
    batches: list[Seen] = []
    state: Any = None
    while True:
        loader = loader_of(
            draw.choice([1, 2, 4]),
            micro_batches_per_step=micro_batches_per_step,
            normaliser=normaliser,
            agree_every_steps=draw.choice([1, 3]),
        )
        if state is not None:
            loader.load_state_dict(json.loads(state))
        n_batches = draw.randint(1, 14)
        for batch in loader:
            batches.append(seen(batch))
            n_batches -= 1
            if n_batches == 0:
                break
        else:
            return batches
        # The state is of what the loop has had, whatever workers fetched ahead.
        state = json.dumps(loader.gathered_state_dict() if is_merged else loader.state_dict())


def gathered_states() -> tuple[Any, Any]:
    """In a process of a group: the gathered state behind 6 micro-batches, and the merged one."""
    loader = StreamLoader(dataset_of(dist.get_rank(), dist.get_world_size()), micro_batches_per_step=3)
    for _ in zip(range(6), loader, strict=False):
        pass
    states: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(states, loader.state_dict())
    return loader.gathered_state_dict(), merge_stream_states(states)


def packed_gradients(micro_batches_per_step: int) -> list[tuple[Any, list[Seen]]]:
    """In a process of a group: of each step, what DistributedDataParallel leaves behind, and the batches."""
    parallel = DistributedDataParallel(training.model())
    loader = StreamLoader(
        dataset_of(dist.get_rank(), dist.get_world_size()), micro_batches_per_step=micro_batches_per_step
    )
    found = []
    for step in loader.steps():
        parallel.zero_grad()
        batches = []
        for batch in step:
            with nullcontext() if batch.is_last else parallel.no_sync():
                training.alone_loss(parallel, batch, None).backward()
            batches.append(seen(batch))
        found.append((training.flat_gradient(parallel).numpy(), batches))
    return found


def unpacked_gradient(documents: list[tuple[int, int]]) -> Any:
    """Of the mean over all loss tokens of documents, each trained on its own."""
    alone = training.model()
    losses, n_loss_tokens = [], 0
    for shard_index, sample_index in documents:
        sample = samples_of(shard_index)[sample_index]
        ids, labels = (torch.tensor([sample[name][:CAPACITY_TOKENS]]) for name in ("input_ids", "labels"))
        n_loss_tokens += int((labels[0, 1:] != -100).sum())
        if ids.shape[1] > 1:
            logits = alone(ids, torch.arange(ids.shape[1])[None])
            loss = torch.nn.functional.cross_entropy(
                logits[0, :-1], labels[0, 1:], reduction="sum", ignore_index=-100
            )
            losses.append(loss)
    (sum(losses) / n_loss_tokens).backward()
    return training.flat_gradient(alone).numpy()


SOURCES = {"web": 300, "code": 120, "math": 60}
FIRST_WEIGHTS = {"web": 4.0, "code": 2.0, "math": 1.0}
# Behind so many micro-batches of a rank the loop sets these weights.
CHANGES = {5: {"web": 1.0, "code": 1.0, "math": 1.0}, 13: {"web": 1.0, "code": 0.0, "math": 3.0}}


class OfSource:
    """Samples of one source: sample i of shard s; the third token is i, so that each is told apart."""

    def __init__(self, source: int, size: int) -> None:
        self.source, self.size = source, size

    def __call__(self, shard_index: int, n_shards: int, start_sample: int) -> Iterator[dict[str, list[int]]]:
        lengths = drawn_lengths(self.size, self.source, longest_tokens=80) + 3
        for i in range(shard_index + start_sample * n_shards, self.size, n_shards):
            yield {"input_ids": [1, self.source, i % VOCABULARY] + [2] * (int(lengths[i]) - 3)}


def mix_of(at_end: Any = "drop") -> MixedSource:
    sources = {name: OfSource(i, size) for i, (name, size) in enumerate(SOURCES.items())}
    return MixedSource(sources, weights=FIRST_WEIGHTS, at_end=at_end, seed=5)


def mixed_loader(rank: int, world_size: int, **more: Any) -> tuple[StreamLoader, MixedSource]:
    mix = mix_of(more.pop("at_end", "drop"))
    return StreamLoader(dataset_of(rank, world_size, open_shard=mix), **more), mix


def seen_mixed(batch: Any) -> Seen:
    return (*seen(batch), batch.micro_batch.sources)


def mixed_run(seed: int | None, micro_batches_per_step: int, num_workers: int = 0) -> list[Seen]:
    """In a process of a group: an epoch whose weights change; with a seed, killed again and again."""
    draw = random.Random(seed or 0)  # the same on all ranks
    batches: list[Seen] = []
    state: Any = None
    while True:
        workers = num_workers if seed is None else draw.choice([0, 1, 2, 4])
        loader, mix = mixed_loader(
            dist.get_rank(),
            dist.get_world_size(),
            micro_batches_per_step=micro_batches_per_step,
            num_workers=workers,
            agree_every_steps=draw.choice([1, 4]),
            **({"multiprocessing_context": "forkserver"} if workers else {}),
        )
        if state is not None:
            loader.load_state_dict(json.loads(state))
        n_batches = 10**6 if seed is None else draw.randint(1, 9)
        for batch in loader:
            batches.append(seen_mixed(batch))
            if len(batches) in CHANGES:
                mix.set_weights(CHANGES[len(batches)])
            n_batches -= 1
            if n_batches == 0:
                break
        else:
            return batches
        state = json.dumps(loader.gathered_state_dict() if draw.random() < 0.5 else loader.state_dict())


def changed_run(weights: list[dict[str, float] | None]) -> tuple[int, str]:
    """In a process of a group: an epoch of which each rank sets other weights behind its fifth batch."""
    loader, mix = mixed_loader(dist.get_rank(), dist.get_world_size())
    own = weights[dist.get_rank()]
    n_batches = 0
    try:
        for _ in loader:
            dist.all_reduce(torch.ones(1000))  # a gradient
            n_batches += 1
            if n_batches == 5 and own is not None:
                mix.set_weights(own)
    except RuntimeError as error:
        return n_batches, str(error)
    return n_batches, ""
