"""Rewards of HBO are those of a naive loop, and measuring them disturbs no training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mixing_probes  # noqa: E402
from mixing_probes import N_GROUPS, FakeMixture, WithDropout, rewards_of  # noqa: E402
from process_pool import ProcessPool  # noqa: E402

from packsim.torch import CollatorRules, PackCollator  # noqa: E402
from packsim.torch.mixing import HboRewards, probes  # noqa: E402
from packsim.torch.mixing.shared_work import dealt  # noqa: E402

TOLERANCE = 1e-9  # of float64, other orders of sums


def chosen_samples(rewards: HboRewards, step: int, n: int) -> list[list[list[int]]]:
    start = rewards._start
    assert start is not None
    return [
        [start.of_update(subset, group, n, step)[0] for group in range(n_groups)]
        for subset, n_groups in enumerate(N_GROUPS)
    ]


@pytest.mark.parametrize("gradient_of", ["samples", "batch"])
def test_rewards_are_those_of_batches_of_one(gradient_of: Any) -> None:
    # Packed rows, and dropout in a model that is in training mode: none of it may be seen in a reward.
    model = WithDropout()
    rewards = rewards_of(model, gradient_of=gradient_of)
    rewards.begin()
    changed = WithDropout().eval()
    mixing_probes.changed(changed)
    model.load_state_dict(changed.state_dict())
    subsets, groups = rewards.measure(step=200)
    of_batch = gradient_of == "batch"
    expected = mixing_probes.naive_subset_rewards(changed, 0, gradient_samples=3, of_batch=of_batch)
    np.testing.assert_allclose(subsets, expected, rtol=TOLERANCE)
    start = WithDropout().eval()
    for subset, of_subset in enumerate(chosen_samples(rewards, 200, 4)):
        for group, chosen in enumerate(of_subset):
            now = [mixing_probes.perplexity(changed, sample) for sample in chosen]
            before = [mixing_probes.perplexity(start, sample) for sample in chosen]
            mean = np.mean(np.divide(now, before))
            assert groups[subset][group] == pytest.approx(mean, rel=TOLERANCE)


@pytest.mark.parametrize("gradient_of", ["samples", "batch"])
def test_samples_that_training_truncates_are_measured_truncated(gradient_of: Any) -> None:
    data = mixing_probes.samples()
    cut = [{name: values[:20] for name, values in sample.items()} for sample in data]
    options: dict[str, Any] = {"capacity_tokens": 20, "gradient_of": gradient_of}
    found, _ = rewards_of(WithDropout(), over_long="truncate", **options).measure(0)
    lengths = mixing_probes.lengths_of(cut)
    expected, _ = rewards_of(WithDropout(), data=cut, lengths_tokens=lengths, **options).measure(0)
    whole, _ = rewards_of(WithDropout(), **options).measure(0)
    np.testing.assert_array_equal(found, expected)
    assert (found != whole).all()


def test_losses_of_long_rows_are_taken_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    rewards, in_pieces = rewards_of(WithDropout()), rewards_of(WithDropout())
    rewards.begin()
    monkeypatch.setattr(probes, "_TOKENS_AT_A_TIME", 7)
    in_pieces.begin()
    one, other = rewards.state_dict()["start"], in_pieces.state_dict()["start"]
    assert one["samples"] == other["samples"]
    for of_subset, of_other in zip(one["losses"], other["losses"], strict=True):
        np.testing.assert_allclose(np.concatenate(of_subset), np.concatenate(of_other), rtol=TOLERANCE)


@pytest.mark.parametrize("gradient_of", ["samples", "batch"])
def test_spread_over_processes_rewards_are_those_of_each_alone(
    gradient_of: str, two_processes: ProcessPool
) -> None:
    spread = two_processes.run(mixing_probes.measured, "spread", gradient_of)
    repeated = two_processes.run(mixing_probes.measured, "repeated", gradient_of)
    for result in (*spread, *repeated):
        assert result["state"] == spread[0]["state"]
        # The same rows, and every number of one process alone: no bit is another one.
        assert (result["subsets"] == spread[0]["subsets"]).all()
        for of_subset, expected in zip(result["groups"], spread[0]["groups"], strict=True):
            assert (of_subset == expected).all()
    for name in ("gradient_passes", "forward_passes", "gradient_tokens", "forward_tokens"):
        parts = [result["passes"][name] for result in spread]
        assert min(parts) > 0
        assert [result["passes"][name] for result in repeated] == [sum(parts)] * 2


class Arms:
    """8 subsets of 4 groups, each of which has the samples i, i + 32, ..."""

    names = [f"subset {i}" for i in range(8)]
    n_groups = [4] * 8

    def probe_samples(self, subset: int, group: int, n: int, purpose: int) -> Any:
        return subset * 4 + group + 32 * np.arange(n)


class OneOfEight:
    """What SharedWork is to a process of eight, without the others."""

    rank, size = 3, 8

    def numbers(self, n: int, fill: Any) -> Any:
        values = np.zeros(n)
        fill(values)
        # What the others would have measured.
        values[: n // 2][values[n // 2 :] == 0] = 1.0
        values[n // 2 :] = 1
        return values


def test_a_process_of_eight_has_an_eighth_of_what_each_has_as_coded() -> None:
    """The sum of the paper's 8 subsets x 4 groups, 8 gradient and 16 perplexity samples: 256 and 512."""
    data = [np.arange(1, 9)] * (32 * 16)
    options: dict[str, Any] = {"lengths_tokens": [8] * len(data), "capacity_tokens": 8, "pool_samples": 16}
    found = []
    for placement in ("repeated", "spread"):
        rewards = HboRewards(WithDropout(), data, Arms(), placement=placement, **options)  # type: ignore[arg-type]
        if placement == "spread":
            rewards._work = OneOfEight()  # type: ignore[assignment]
        rewards.begin()
        at_start = rewards.passes.forward_passes
        rewards.measure(step=200)
        passes = rewards.passes
        found.append((passes.gradient_passes, passes.forward_passes - at_start))
        assert passes.gradient_tokens == 8 * passes.gradient_passes
    assert found == [(256, 512), (32, 64)]


def test_units_go_to_the_process_that_has_least_to_do() -> None:
    # 9 | 7 and 6, then 5 behind 7, 4 behind 9 of which 13 and 12 are left.
    assert dealt([5, 9, 4, 7], 2) == [[1, 2], [3, 0]]
    assert dealt([1, 1, 1], 4) == [[0], [1], [2], []]


@pytest.mark.parametrize("recomputed", [0, 1])
def test_training_goes_on_as_if_nothing_had_been_measured(
    recomputed: int, two_processes: ProcessPool
) -> None:
    without = two_processes.run(mixing_probes.trained, False, recomputed)
    measured = two_processes.run(mixing_probes.trained, True, recomputed)
    for expected, found in zip(without, measured, strict=True):
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other)
    # Gradients are those of both processes: DistributedDataParallel has exchanged them.
    np.testing.assert_array_equal(measured[0][0], measured[1][0])


def test_no_graph_and_no_gradient_is_left() -> None:
    model = WithDropout()
    rewards = rewards_of(model)
    with torch.no_grad():  # as in a loop that validates
        subsets, _ = rewards.measure(step=0)
    assert (subsets > 0).all()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(module.training for module in model.modules())


def test_measured_first_the_perplexity_is_that_of_the_start() -> None:
    _, groups = rewards_of(WithDropout()).measure(step=0)
    np.testing.assert_allclose(np.concatenate(groups), 1, rtol=TOLERANCE)


def test_a_resumed_run_measures_the_same_bits() -> None:
    model = WithDropout()
    rewards = rewards_of(model)
    rewards.begin()
    state = json.loads(json.dumps(rewards.state_dict()))
    mixing_probes.changed(model)
    resumed = rewards_of(model)
    resumed.load_state_dict(state)
    for step in (200, 400):
        (one, groups), (other, other_groups) = rewards.measure(step), resumed.measure(step)
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.concatenate(groups), np.concatenate(other_groups))
    # Each update has other samples of the pool.
    assert chosen_samples(rewards, 200, 4) != chosen_samples(rewards, 400, 4)
    assert resumed.passes.forward_samples == rewards.passes.forward_samples - sum(
        len(set(FakeMixture().probe_samples(subset, group, 8, 0).tolist()))
        for subset, n_groups in enumerate(N_GROUPS)
        for group in range(n_groups)
    )


def test_perplexities_at_the_start_are_kept_from_run_to_run(
    tmp_path: Path, two_processes: ProcessPool
) -> None:
    path = tmp_path / "start.json"
    results = two_processes.run(mixing_probes.cached, str(path))
    for result in results:
        first, second, other = result["states"]
        assert first == second == results[0]["states"][0]
        assert other != first
        passes = result["passes"]
        assert passes[0] > 0 and passes[1] == 0 and passes[2] > 0
    path.write_text("[1, 2]")
    with pytest.raises(ValueError, match="start.json: expected a cache of start perplexities"):
        rewards_of(WithDropout(), cache=path).begin()
    assert path.read_text() == "[1, 2]"


def test_where_one_process_fails_none_waits_for_it(two_processes: ProcessPool) -> None:
    first, second = two_processes.run(mixing_probes.failed_on_one_rank)
    assert "RuntimeError: rank 0: expected all 2 processes to measure their part" in first
    assert second == "MemoryError: no memory on this one"


def test_a_loss_of_ones_own_has_its_gradients() -> None:
    def doubled(logits: Any, labels: Any) -> Any:
        return 2 * torch.nn.functional.cross_entropy(logits, labels, reduction="none", ignore_index=-100)

    plain, _ = rewards_of(WithDropout()).measure(0)
    twice, groups = rewards_of(WithDropout(), loss=doubled).measure(0)
    np.testing.assert_allclose(twice, 2 * plain, rtol=TOLERANCE)
    np.testing.assert_allclose(np.concatenate(groups), 1, rtol=TOLERANCE)


def test_a_loss_without_gradient_is_an_error() -> None:
    def detached(model: Any, batch: Any) -> Any:
        return model(batch["input_ids"], batch["position_ids"], batch["cu_seqlens"]).detach()

    with pytest.raises(ValueError, match="loss: expected one with a gradient, got one that depends on no"):
        rewards_of(WithDropout(), forward=detached).measure(0)


def test_logits_of_another_shape_are_an_error() -> None:
    def of_last_token(model: Any, batch: Any) -> Any:
        return model(batch["input_ids"], batch["position_ids"], batch["cu_seqlens"])[:, -1:]

    with pytest.raises(ValueError, match=r"logits: expected shape \(1, \d+, n_words\), one for each token"):
        rewards_of(WithDropout(), forward=of_last_token).begin()


def test_wrong_arguments_are_named_all_at_once() -> None:
    frozen = WithDropout().requires_grad_(False)
    rows = PackCollator(CollatorRules(layout="rows"))
    with pytest.raises(ValueError) as error:
        rewards_of(frozen, capacity_tokens=0, gradient_of="all", placement="x", collator=rows)
    text = str(error.value)
    for part in (
        "capacity_tokens: expected integer in 1..2147483647, got 0 (int)",
        "gradient_of: expected one of samples, batch, got 'all' (str)",
        "placement: expected one of spread, repeated, got 'x' (str)",
        "model: expected a parameter that is trained, got none",
        "collator: expected one of layout 'packed', got 'rows'",
    ):
        assert part in text
    with pytest.raises(ValueError, match="lengths_tokens: expected one for each of 54 samples, got 1"):
        rewards_of(WithDropout(), lengths_tokens=[3])


def test_sharded_models_are_refused() -> None:
    class FullyShardedDataParallel(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = WithDropout()

    model = WithDropout()
    next(model.parameters()).ds_id = 0
    for sharded, by in ((FullyShardedDataParallel(), "FullyShardedDataParallel"), (model, "ZeRO-3")):
        with pytest.raises(ValueError, match=f"model: expected one of which every process.*{by}"):
            rewards_of(sharded)


def test_a_model_of_fully_shard_is_refused(two_processes: ProcessPool) -> None:
    for text in two_processes.run(mixing_probes.refusal_of_fully_shard):
        assert "sharded by fully_shard() or tensor parallelism (parameter" in text


def test_groups_without_labels_are_named_all_at_once() -> None:
    data = mixing_probes.samples()
    for sample in data[:18]:  # both groups of the first subset
        sample["labels"][:] = -100
    rewards = HboRewards(
        WithDropout(),
        data,
        FakeMixture(),
        lengths_tokens=mixing_probes.lengths_of(data),
        capacity_tokens=64,
    )
    with pytest.raises(ValueError) as error:
        rewards.begin()
    assert "subset 'maths', group 0: expected a sample with labels among" in str(error.value)
    assert "subset 'maths', group 1: expected a sample with labels among" in str(error.value)


def test_a_model_that_has_diverged_is_named() -> None:
    model = WithDropout()
    rewards = rewards_of(model)
    rewards.begin()
    with torch.no_grad():
        model.llama.head.weight.fill_(float("nan"))
    with pytest.raises(RuntimeError, match="subset 'maths': expected a finite gradient norm, got nan"):
        rewards.measure(200)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ["a", "b", "c"]}, "names: expected"),
        ({"n_groups": [1, 1, 1]}, "n_groups: expected"),
        ({"start": {"samples": [], "losses": []}}, "start: expected samples and losses of"),
        ({"start": 3}, "start: expected a mapping"),
    ],
)
def test_states_of_others_are_refused(change: dict[str, Any], message: str) -> None:
    rewards = rewards_of(WithDropout())
    rewards.begin()
    state = rewards.state_dict()
    with pytest.raises(ValueError, match=message):
        rewards.load_state_dict(state | change)
    assert rewards.state_dict() == state
