"""Shards packed and joined hold what the samples of all shards are, with 64-bit ids."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sharded_data import ARGUMENTS, drawn, naive_pieces, packed, pieces

import packsim
from packsim import LossSpans
from packsim.sharded import (
    ShardArguments,
    ShardedDataset,
    ShardedPacks,
    ShardedPlan,
    ShardError,
    join_shards,
    pack_shard,
)
from packsim.sharded import checked_files as files
from packsim.sharded import shard as shard_module

shapes = st.lists(st.lists(st.integers(0, 40), max_size=30), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shards=shapes,
    strategy=st.sampled_from(["bfd", "ffd", "random", "isf", "trl_bfd", "wrapped"]),
    over_long=st.sampled_from(["drop", "truncate", "split", "own_pack"]),
    below=st.sampled_from([0.0, 0.9, 1.0]),
    most=st.sampled_from([3, 1000]),
)
def test_every_piece_is_in_one_pack_or_counted(
    tmp_path_factory: pytest.TempPathFactory,
    shards: list[list[int]],
    strategy: str,
    over_long: Any,
    below: float,
    most: int,
) -> None:
    assume((strategy, over_long) != ("wrapped", "own_pack"))  # which pack() refuses
    folder = tmp_path_factory.mktemp("shards")
    lengths = [np.array(one, dtype=np.int32) for one in shards]
    arguments = ShardArguments(
        strategy, 16, over_long=over_long, leftover_below_fraction=below, leftover_samples=most
    )
    packs = packed(folder, lengths, arguments)
    packs.check()
    whole = np.concatenate(lengths)
    if strategy != "wrapped":  # it cuts elsewhere
        assert pieces(packs) == naive_pieces(whole, 16, over_long)
    counts = packs.counts
    assert (counts.n_samples, counts.n_tokens) == (len(whole), whole.sum())
    n_packed = sum(tokens for _, _, tokens in pieces(packs))
    assert packs.n_tokens == n_packed == counts.n_tokens - counts.dropped_tokens - counts.truncated_tokens
    assert packs.n_loss_tokens == sum(max(tokens - 1, 0) for _, _, tokens in pieces(packs))
    totals = [int(pack.tokens.sum()) for pack in packs]
    assert all(total <= 16 for total in totals) or over_long == "own_pack"
    normal = [total for total in totals if total <= 16]
    assert packs.fill_fraction == pytest.approx(sum(normal) / (16 * len(normal)) if normal else 0)
    assert packs.packs_above_bound == len(normal) - -(-sum(normal) // 16)
    everything = np.arange(packs.n_packs)
    assert packs.pack_work(everything).tolist() == [float((p.tokens.astype(int) ** 2).sum()) for p in packs]
    assert packs.pack_loss_tokens(everything).tolist() == [int(p.piece_loss_tokens().sum()) for p in packs]


def test_without_leftovers_a_shard_has_the_packs_of_pack(tmp_path: Path) -> None:
    arguments = ShardArguments("ffd", 64, over_long="truncate", leftover_below_fraction=0.0)
    shards = drawn([50, 70])
    packs = packed(tmp_path, shards, arguments)
    expected = []
    for first, lengths in ((0, shards[0]), (50, shards[1])):
        packing = packsim.pack(lengths, strategy="ffd", capacity_tokens=64, over_long="truncate")
        expected += [[first + sample for sample in pack.tolist()] for pack in packing.groups[0]]
    assert [pack.samples.tolist() for pack in packs] == expected
    assert packs.manifest["leftovers"] is None


def test_leftovers_of_all_shards_share_packs(tmp_path: Path) -> None:
    # Each shard has a full pack and a sample of 30: alone 4 packs of 60, together 2 + 1.
    packs = packed(tmp_path, [np.array([64, 30]), np.array([64, 30])])
    assert packs.n_packs == 3
    assert sorted(pack.samples.tolist() for pack in packs) == [[0], [1, 3], [2]]
    assert packs.manifest["leftovers"]["n_packs_before"] == 2
    # Two of 40 do not fit into one: the packs of the shards stay.
    assert packed(tmp_path, [np.array([64, 40]), np.array([64, 40])]).manifest["leftovers"] is None
    assert list(tmp_path.glob("leftovers*")) == []


@pytest.mark.parametrize("below", [0.0, 0.99])  # in packs of shards, and in leftovers of all
def test_sample_ids_have_64_bits(tmp_path: Path, below: float) -> None:
    arguments = ShardArguments("bfd", 64, leftover_below_fraction=below)
    packed(tmp_path, [np.array([5, 6]), np.array([7, 8])], arguments)
    # As if the first shard had more samples than 32 bits count.
    path = shard_module.record_path(tmp_path, 0)
    record = files.read_record(path)
    record["counts"]["n_samples"] = 2**32 + 5
    files.write_record(path, record)
    packs = join_shards(tmp_path, 2)
    assert bool(packs.manifest["leftovers"]) == (below > 0)
    assert [piece[0] for piece in pieces(packs)] == [0, 1, 2**32 + 5, 2**32 + 6]
    plan = ShardedPlan(packs, n_gpus=packs.n_packs)
    samples = [sample for micro_batch in plan.micro_batches(0) for sample in micro_batch]
    assert sorted(samples) == [0, 1, 2**32 + 5, 2**32 + 6]


def test_loss_tokens_follow_their_samples(tmp_path: Path) -> None:
    lengths = [np.array([20, 30, 14]), np.array([33, 9])]
    losses = [np.array([5, 0, 13]), np.array([32, 8])]
    for shard in (0, 1):
        pack_shard(lengths[shard], ARGUMENTS, folder=tmp_path, shard=shard, loss_tokens=losses[shard])
    packs = join_shards(tmp_path, 2)
    found = {s: n for p in packs for s, n in zip(p.samples.tolist(), p.piece_loss_tokens().tolist())}  # noqa: B905
    assert found == {0: 5, 1: 0, 2: 13, 3: 32, 4: 8}
    assert packs.n_loss_tokens == 58


@pytest.mark.parametrize("over_long", ["truncate", "split"])
def test_pieces_of_cut_samples_have_their_loss_tokens(tmp_path: Path, over_long: str) -> None:
    # Every third token has loss, the first of each piece has none.
    lengths = [np.array([100, 40], dtype=np.int32), np.array([130], dtype=np.int32)]
    arguments = ShardArguments("bfd", 64, over_long=over_long)  # type: ignore[arg-type]
    for shard, tokens in enumerate(lengths):
        labels = [[1 if token % 3 == 0 else -100 for token in range(n)] for n in tokens]
        pack_shard(tokens, arguments, folder=tmp_path, shard=shard, loss_tokens=LossSpans.of_labels(labels))
    packs = join_shards(tmp_path, 2)
    n_loss_tokens = 0
    for pack in packs:
        starts = np.zeros(len(pack.samples), dtype=int) if pack.starts_tokens is None else pack.starts_tokens
        for start, tokens, found in zip(
            starts.tolist(), pack.tokens.tolist(), pack.piece_loss_tokens().tolist(), strict=True
        ):
            assert found == sum(token % 3 == 0 for token in range(start + 1, start + tokens))
            n_loss_tokens += found
    assert packs.n_loss_tokens == n_loss_tokens
    with pytest.raises(ShardError, match="shard 1: loss_tokens: expected 1 samples, got 2"):
        pack_shard(
            lengths[1], arguments, folder=tmp_path, shard=1, loss_tokens=LossSpans.of_labels([[1], []])
        )
    # Other labels of the same lengths are another shard.
    record = pack_shard(
        lengths[1], arguments, folder=tmp_path, shard=1, loss_tokens=LossSpans.of_labels([[1] * 130])
    )
    assert record["n_loss_tokens"] == {"truncate": 63, "split": 127}[over_long]


def test_a_shard_that_is_done_is_not_packed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = drawn([40])[0]
    record = pack_shard(lengths, ARGUMENTS, folder=tmp_path, shard=0)
    n_packed = []
    pack = ShardArguments.pack
    monkeypatch.setattr(
        ShardArguments, "pack", lambda self, *a, **k: (n_packed.append(len(a[0])), pack(self, *a, **k))[1]
    )
    assert pack_shard(lengths, ARGUMENTS, folder=tmp_path, shard=0) == record
    assert n_packed == []
    # Other arguments, other lengths, a damaged file and a damaged record: each is packed again.
    other = ShardArguments("ffd", 64, over_long="truncate")
    n_packed.clear()
    pack_shard(lengths, other, folder=tmp_path, shard=0)
    assert n_packed == [40]
    pack_shard(lengths[:30], other, folder=tmp_path, shard=0)
    assert n_packed == [40, 30]
    assert pack_shard(lengths, ARGUMENTS, folder=tmp_path, shard=0) == record
    flip(tmp_path / record["file"]["name"], 10)
    assert pack_shard(lengths, ARGUMENTS, folder=tmp_path, shard=0) == record
    flip(shard_module.record_path(tmp_path, 0), 300)
    assert pack_shard(lengths, ARGUMENTS, folder=tmp_path, shard=0) == record
    assert n_packed == [40, 30, 40, 40, 40]
    # What was replaced is not left behind.
    assert len(list(tmp_path.iterdir())) == 2


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_shards_are_filled_like_a_tenth_of_the_samples_in_one_call(tmp_path: Path) -> None:
    """Of 64 shards of 1 000, lognormal with the median (498) and mean (921) of docs/sharded_data.md."""
    generator = np.random.default_rng(5)
    sigma = np.sqrt(2 * np.log(921 / 498))
    shards = [
        np.clip(generator.lognormal(np.log(498), sigma, 1000), 1, 4096).astype(np.int32) for _ in range(64)
    ]
    packs = packed(tmp_path, shards, ShardArguments("bfd", 4096))
    tenth = packsim.pack(np.concatenate(shards)[::10], strategy="bfd", capacity_tokens=4096)
    one_call = int(tenth.groups[0].tokens.sum()) / (len(tenth.groups[0]) * 4096)
    assert abs(packs.fill_fraction - one_call) < 0.001
    assert packs.fill_fraction > 0.999


def test_every_missing_or_differing_shard_is_named(tmp_path: Path) -> None:
    shards = drawn([10, 10, 10, 10])
    packed(tmp_path, shards)
    pack_shard(shards[1], ShardArguments("ffd", 32, over_long="drop"), folder=tmp_path, shard=1)
    record = files.read_record(shard_module.record_path(tmp_path, 2))
    with open(tmp_path / record["file"]["name"], "ab") as file:
        file.write(b"x")
    shard_module.record_path(tmp_path, 3).unlink()
    with pytest.raises(ShardError) as caught:
        join_shards(tmp_path, 4)
    lines = str(caught.value).splitlines()
    assert "shard 1: expected strategy 'bfd', as shard 0, got 'ffd': pack it again" in lines
    assert "shard 1: expected capacity_tokens 64, as shard 0, got 32: pack it again" in lines
    assert "shard 1: expected over_long 'truncate', as shard 0, got 'drop': pack it again" in lines
    assert any(line.startswith("shard 2: ") and "bytes, got" in line for line in lines)
    assert any(line.startswith("shard 3: expected its record") and "not packed yet" in line for line in lines)
    assert len(lines) == 5


def test_shards_that_a_join_would_leave_out_are_named(tmp_path: Path) -> None:
    packed(tmp_path, drawn([10, 10, 10, 10]))
    with pytest.raises(ShardError) as caught:
        join_shards(tmp_path, 2)
    assert str(caught.value).splitlines() == [
        f"shard {shard}: expected 2 shards, got {tmp_path}/shard-00000{shard}.json, too: join all shards, or "
        "remove the record of one that is not of the data"
        for shard in (2, 3)
    ]
    assert ShardedPacks.open(tmp_path).n_shards == 4  # what was joined before


def test_damage_is_found_where_it_is(tmp_path: Path) -> None:
    packs = packed(tmp_path, drawn([40, 40]))
    name = packs.manifest["shards"][1]["file"]["name"]
    flip(tmp_path / name, 3)
    opened = ShardedPacks.open(tmp_path)
    opened.pack(0)  # of the first shard
    with pytest.raises(ValueError, match=f"{name}: expected checksum"):
        opened.pack(packs.manifest["shards"][0]["n_used_packs"])
    with pytest.raises(ShardError, match=f"shard 1: .*{name}: expected checksum"):
        opened.check()
    (tmp_path / name).unlink()
    with pytest.raises(ShardError, match=f"{name}: expected a file of"):
        ShardedPacks.open(tmp_path)
    flip(tmp_path / "manifest.json", 200)
    with pytest.raises(ShardError, match="manifest.json: expected"):
        ShardedPacks.open(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(ShardError, match="expected a record of packsim.sharded"):
        ShardedPacks.open(tmp_path)
    files.write_record(tmp_path / "manifest.json", {"format": "of tomorrow"})
    with pytest.raises(ShardError, match="expected packsim sharded packs 1, got 'of tomorrow'"):
        ShardedPacks.open(tmp_path)


def test_check_finds_a_sample_that_is_packed_twice(tmp_path: Path) -> None:
    """The file is whole, but wrong: as a bug would make it."""
    packs = packed(tmp_path, [np.array([64, 20, 20, 20])])
    row = packs.manifest["shards"][0]
    arrays = {name: array.copy() for name, array in files.map_arrays(tmp_path, row["file"]).items()}
    arrays["samples"][1] = arrays["samples"][2]
    row["file"] = files.write_arrays(tmp_path, "wrong", arrays)
    files.write_record(tmp_path / "manifest.json", packs.manifest)
    with pytest.raises(ShardError, match="shard 0: expected sample . to be packed once"):
        ShardedPacks.open(tmp_path).check()


def test_mistakes_are_named_all_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        ShardArguments("bfd", 0, over_long="no", leftover_below_fraction=2.0, options={"rounds": 3})  # type: ignore[arg-type]
    text = str(caught.value)
    for expected in (
        "leftover_below_fraction: ",
        "capacity_tokens: ",
        "over_long: ",
        "rounds: expected an option",
    ):
        assert expected in text
    with pytest.raises(ValueError, match="strategy: expected one with one capacity.*got hbp"):
        ShardArguments("hbp", 64)
    with pytest.raises(ValueError, match="capacity_tokens: expected one integer"):
        ShardArguments("bfd", [64, 128])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"arguments: expected ShardArguments, got \{.*\} \(dict\)"):
        pack_shard([3], {"strategy": "bfd"}, folder=tmp_path, shard=7)  # type: ignore[arg-type]
    with pytest.raises(ShardError, match="shard 7: .*sample"):
        pack_shard([3, 65], ShardArguments("bfd", 64), folder=tmp_path, shard=7)
    with pytest.raises(ShardError, match="shard 7: loss_tokens: sample 1: expected 0..4, got 5"):
        pack_shard([3, 5], ARGUMENTS, folder=tmp_path, shard=7, loss_tokens=[2, 5])
    with pytest.raises(ShardError, match="shard 7: loss_tokens: expected LossSpans for a packing that cuts"):
        pack_shard([3, 99], ARGUMENTS, folder=tmp_path, shard=7, loss_tokens=[2, 5])
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_over_shards_finds_samples_by_their_ids(tmp_path: Path) -> None:
    packs = packed(tmp_path, drawn([3, 0, 2]))
    opened: list[int] = []

    def open_shard(shard: int) -> list[str]:
        opened.append(shard)
        return [f"{shard}:{sample}" for sample in range([3, 0, 2][shard])]

    data = ShardedDataset(packs, open_shard, most_open=1)
    assert [data[sample] for sample in range(len(data))] == ["0:0", "0:1", "0:2", "2:0", "2:1"]
    assert opened == [0, 2]
    with pytest.raises(IndexError, match=r"sample: expected 0\.\.4, got 5"):
        data[5]
    with pytest.raises(ShardError, match="shard 2: expected 2 samples, of which the packs were made, got 1"):
        ShardedDataset(packs, lambda shard: [0])[4]


def test_packs_are_pickled_as_their_folder(tmp_path: Path) -> None:
    packs = packed(tmp_path, drawn([30]))
    packs.pack(0)
    sent = pickle.dumps(packs)
    assert len(sent) < 1000
    assert pickle.loads(sent).content_hash == packs.content_hash
    packed(tmp_path, drawn([31]))
    with pytest.raises(ShardError, match="which were pickled"):
        pickle.loads(sent)
