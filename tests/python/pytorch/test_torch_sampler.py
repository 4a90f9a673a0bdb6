"""The batch sampler: ranks, epochs, states, and sharding by others."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from training_cases import drawn_lengths  # noqa: E402

import packsim  # noqa: E402
from packsim.torch import PlanSampler  # noqa: E402

LENGTHS = drawn_lengths(90, seed=5, longest_tokens=64)


def plan_of_epochs(n_gpus: int = 4, epochs: int = 2) -> packsim.Plan:
    packing = packsim.pack(LENGTHS, strategy="ffd", capacity_tokens=64)
    return packsim.make_plan(
        packing, n_gpus=n_gpus, micro_batches_per_rank=2, epochs=epochs, last_iteration="shorten"
    )


PLAN = plan_of_epochs()


def test_ranks_get_as_many_micro_batches_and_all_packs_between_them() -> None:
    samplers = [PlanSampler(PLAN, rank, 2) for rank in range(2)]
    batches = [list(sampler) for sampler in samplers]
    assert len(batches[0]) == len(batches[1]) == len(samplers[0]) == len(samplers[1])
    trained = sorted(sample for of_rank in batches for batch in of_rank for sample in batch)
    assert trained == list(range(len(LENGTHS)))


def test_an_epoch_is_given_again_until_another_is_set() -> None:
    sampler = PlanSampler(PLAN, 0, 2)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    second = list(sampler)
    assert [m.iteration for m in second][0] == PLAN.iterations_per_epoch
    assert [list(m) for m in second] != [list(m) for m in first]
    sampler.set_epoch(2)  # the plan has two
    assert list(sampler) == first
    with pytest.raises(ValueError, match="epoch: expected integer in 0..2147483647, got -1"):
        sampler.set_epoch(-1)


def test_the_environment_says_which_rank_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (PlanSampler(PLAN).schedule.rank, PlanSampler(PLAN).schedule.world_size) == (0, 1)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (PlanSampler(PLAN).schedule.rank, PlanSampler(PLAN).schedule.world_size) == (1, 2)
    assert PlanSampler(PLAN, 3, 4).schedule.rank == 3
    with pytest.raises(ValueError, match="rank, world_size: expected both or none, got 1 and None"):
        PlanSampler(PLAN, 1)


@pytest.mark.parametrize("for_all", [False, True])
def test_a_state_goes_on_where_it_was_taken(for_all: bool) -> None:
    def made() -> PlanSampler:
        return PlanSampler.for_all_ranks(PLAN, 2) if for_all else PlanSampler(PLAN, 1, 2)

    batches = list(made())
    for n_drawn in range(len(batches) + 1):
        sampler = made()
        drawing = iter(sampler)
        for _ in range(n_drawn):
            next(drawing)
        other = made()
        other.load_state_dict(sampler.state_dict())
        # Of all ranks, a turn that some have not drawn is drawn again by all.
        n_done = n_drawn - n_drawn % 2 if for_all else n_drawn
        # At the end of an epoch, the next one begins.
        assert list(other) == (batches[n_done:] or second_epoch(made()))
        if n_done < len(batches):
            other.load_state_dict(sampler.state_dict())
            other.set_epoch(0)  # the epoch that the state is in, as trainers set it
            assert list(other) == batches[n_done:]
            assert list(other) == batches  # and afterwards from its beginning


def second_epoch(sampler: PlanSampler) -> list[packsim.MicroBatch]:
    sampler.set_epoch(1)
    return list(sampler)


def test_all_ranks_turn_by_turn_deal_out_to_each_its_own() -> None:
    dealt = list(PlanSampler.for_all_ranks(PLAN, 4))
    assert len(dealt) == len(PlanSampler.for_all_ranks(PLAN, 4)) == 4 * len(PlanSampler(PLAN, 0, 4))
    for rank in range(4):
        assert dealt[rank::4] == list(PlanSampler(PLAN, rank, 4))


def test_a_plain_dataset_is_indexed_by_micro_batches() -> None:
    loader = torch.utils.data.DataLoader(
        list(range(len(LENGTHS))), batch_sampler=PlanSampler(PLAN, 0, 1), collate_fn=list
    )
    assert sorted(sample for batch in loader for sample in batch) == list(range(len(LENGTHS)))
