"""Every row of the strategy table keeps the promises that pack() makes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CAPACITY_TOKENS, arguments_of, heavy_tailed, rows

import packsim
from packsim import _core

ROWS = pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)


def trained_tokens(packing: packsim.Packing, n_samples: int) -> np.ndarray:
    """Tokens of each sample that are in packs, every token once."""
    tokens = np.zeros(n_samples, dtype=np.int64)
    for group in packing.groups:
        np.add.at(tokens, group.samples, group.tokens)
        assert (group.starts_tokens >= 0).all()
        assert len(group.samples) == len(group.starts_tokens) == len(group.tokens) == group.offsets[-1]
    return tokens


@ROWS
@pytest.mark.parametrize("over_long", ["drop", "truncate", "split", "own_pack"])
@pytest.mark.parametrize("empty", ["drop", "keep"])
def test_every_token_is_packed_once_or_counted(row: packsim.Strategy, over_long: str, empty: str) -> None:
    if over_long == "own_pack" and row.cuts_samples:
        pytest.skip("cuts over-long samples anyway")
    lengths = heavy_tailed(3000, seed=3, longest_tokens=9000)
    lengths[::97] = 0
    try:
        packing = packsim.pack(lengths, over_long=over_long, empty=empty, **arguments_of(row))
    except ValueError as refused:  # a policy that the strategy does not know, which it says
        assert over_long == "own_pack" and "own_pack" in str(refused)
        return
    wanted = lengths.astype(np.int64)
    is_long = lengths > CAPACITY_TOKENS
    if over_long == "drop":
        wanted[is_long] = 0
    if over_long == "truncate":
        wanted[is_long] = CAPACITY_TOKENS
    assert (trained_tokens(packing, len(lengths)) == wanted).all()

    counts = packing.counts
    assert counts.n_samples == len(lengths)
    assert counts.n_tokens == lengths.sum()
    assert counts.dropped_samples == (is_long.sum() if over_long == "drop" else 0)
    assert counts.truncated_tokens == (
        (lengths - CAPACITY_TOKENS)[is_long].sum() if over_long == "truncate" else 0
    )
    assert counts.empty_samples == ((lengths == 0).sum() if empty == "drop" else 0)
    if not row.cuts_samples and over_long != "split":
        # Whole samples: each is an item once.
        samples = np.sort(np.concatenate([group.samples for group in packing.groups]))
        is_left_out = (is_long & (over_long == "drop")) | ((lengths == 0) & (empty == "drop"))
        assert (samples == np.flatnonzero(~is_left_out)).all()


@ROWS
def test_no_pack_is_over_its_length(row: packsim.Strategy) -> None:
    packing = packsim.pack(heavy_tailed(3000, seed=4, longest_tokens=CAPACITY_TOKENS), **arguments_of(row))
    assert packing.n_packs == sum(map(len, packing.groups)) == packing.statistics.n_packs
    tokens = 0
    for group, capacity_tokens in zip(packing.groups, packing.capacities_tokens, strict=True):
        assert group.capacity_tokens == capacity_tokens
        pack_tokens = group.pack_tokens()
        assert pack_tokens.dtype == np.int64
        assert len(pack_tokens) == len(group) == len(group.offsets) - 1
        assert (pack_tokens <= capacity_tokens).all()
        assert pack_tokens.tolist() == [
            int(group.tokens[slice(*ends)].sum()) for ends in pairs(group.offsets)
        ]
        assert [samples.tolist() for samples in group] == [group.pack(i).tolist() for i in range(len(group))]
        tokens += int(pack_tokens.sum())
    assert tokens == packing.counts.n_tokens
    if row.layout == "packed":
        filled = sum(len(group) * group.capacity_tokens for group in packing.groups)
        assert packing.statistics.fill_fraction == pytest.approx(tokens / filled)
    else:
        assert np.isnan(packing.statistics.fill_fraction)
    assert repr(packing).startswith(f"<Packing by {row.name}: 3000 samples in {packing.n_packs} packs")


def pairs(offsets: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))


@ROWS
def test_strategies_that_form_iterations_place_every_pack_once(row: packsim.Strategy) -> None:
    packing = packsim.pack(heavy_tailed(3000, seed=5, longest_tokens=CAPACITY_TOKENS), **arguments_of(row))
    if not row.forms_iterations:
        assert len(packing.placed) == len(packing.iterations) == 0
        return
    placed = packing.placed
    assert sorted(zip(placed["group"].tolist(), placed["pack"].tolist(), strict=True)) == [
        (g, p) for g, group in enumerate(packing.groups) for p in range(len(group))
    ]
    assert packing.iterations["n_placed"].sum() == len(placed)
    assert (placed["first_gpu"] < 8).all()


@ROWS
@pytest.mark.parametrize("seed", [1024, 7])
def test_the_program_packs_the_same(row: packsim.Strategy, seed: int, tmp_path: Path) -> None:
    lengths = heavy_tailed(2500, seed=6, longest_tokens=6000)
    np.save(tmp_path / "lengths.npy", lengths)
    arguments = arguments_of(row)
    packing = packsim.pack(lengths, over_long="split", seed=seed, **arguments)
    run_program(tmp_path, arguments, seed)

    csv = np.loadtxt(tmp_path / "packs.csv", delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    ours = np.concatenate(
        [
            np.column_stack(
                [
                    np.full(len(group.samples), g),
                    np.repeat(np.arange(len(group)), np.diff(group.offsets)),
                    group.samples,
                    group.starts_tokens,
                    group.tokens,
                ]
            )
            for g, group in enumerate(packing.groups)
        ]
    )
    assert (csv == ours).all()


def run_program(folder: Path, arguments: dict[str, Any], seed: int) -> None:
    def listed(name: str) -> str:
        value = arguments.get(name, 1)
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)

    program = Path(sys.executable).parent / "packsim"
    command = [program, "pack", folder / "lengths.npy", "--strategy", arguments["strategy"]]
    command += ["--capacity", listed("capacity_tokens"), "--sp", listed("sp_degree")]
    command += ["--gpus", str(arguments.get("n_gpus", 1)), "--seed", str(seed)]
    if "tokens_per_iteration" in arguments:
        command += ["--tokens-per-iteration", str(arguments["tokens_per_iteration"])]
    subprocess.run([*command, "--over-long", "split", "--quiet", "--out", folder], check=True)


@ROWS
def test_the_same_arguments_give_the_same_packs(row: packsim.Strategy) -> None:
    lengths = heavy_tailed(2000, seed=7, longest_tokens=CAPACITY_TOKENS)

    def packed(**more: Any) -> list[list[int]]:
        packing = packsim.pack(lengths, **arguments_of(row), **more)
        return [samples.tolist() for group in packing.groups for samples in group]

    assert packed() == packed()
    if "shuffle" in row.options:
        assert packed(seed=1) != packed()
        assert packed(shuffle=False) != packed()


def test_windows_are_packed_on_their_own() -> None:
    lengths = heavy_tailed(3000, seed=8, longest_tokens=CAPACITY_TOKENS)
    packing = packsim.pack(lengths, strategy="bfd", capacity_tokens=CAPACITY_TOKENS, window_samples=1000)
    for samples in packing.groups[0]:
        assert len(set((samples // 1000).tolist())) == 1
    by_default = packsim.pack(lengths, strategy="trl_bfd", capacity_tokens=CAPACITY_TOKENS)
    assert (by_default.groups[0].samples == packing.groups[0].samples).all()
    without = packsim.pack(lengths, strategy="trl_bfd", capacity_tokens=CAPACITY_TOKENS, window_samples=0)
    assert without.n_packs < packing.n_packs


def test_strategies_are_the_rows_of_the_core() -> None:
    names = [row.name for row in packsim.strategies()]
    assert names[:3] == ["none", "random", "sorted"]
    assert len(set(names)) == len(names)
    assert packsim.strategies() is packsim.strategies()
    options = {row["name"] for row in _core.options()}
    assert {name for row in packsim.strategies() for name in row.options} <= options
    for row in packsim.strategies():
        with pytest.raises(AttributeError):
            row.name = "other"  # type: ignore[misc]
    assert [field.name for field in fields(packsim.Strategy)] == list(_core.strategies()[0])


READ = {name for row in rows() for name in row.options}


@pytest.mark.parametrize(
    "option", [row for row in _core.options() if row["name"] in READ], ids=lambda option: option["name"]
)
def test_every_option_is_read_and_has_its_default(option: dict[str, Any]) -> None:
    name = option["name"]
    row = next(row for row in rows() if name in row.options)
    lengths = heavy_tailed(500, seed=9, longest_tokens=CAPACITY_TOKENS)
    given = packsim.pack(lengths, **arguments_of(row), **{name: option["default"]})
    default = packsim.pack(lengths, **arguments_of(row))
    for group, other in zip(given.groups, default.groups, strict=True):
        assert (group.samples == other.samples).all()


def _texts(option: packsim.Option) -> tuple[list[Any], list[Any]]:
    """Values that an option takes, and some just outside."""
    if option.kind == "boolean":
        return [True, False], [1, "maybe", None]
    if option.kind == "word":
        return list(option.words), ["no_such_word", "", None]
    unset = [None] if option.is_optional else []
    return [option.default, option.low, option.high, *unset], [option.low - 1, option.high + 1, "many"]


@pytest.mark.parametrize(
    ("row", "option"),
    [(row, option) for row in rows() for option in packsim.options(row.name)],
    ids=lambda one: one.name,
)
def test_options_take_their_range_and_nothing_else(row: packsim.Strategy, option: packsim.Option) -> None:
    taken, refused = _texts(option)
    for value in taken:
        packsim.pack([5, 3, 2], **{**arguments_of(row), option.name: value})
    for value in refused:
        with pytest.raises(ValueError) as mistake:
            packsim.pack([5, 3, 2], **{**arguments_of(row), option.name: value})
        message = str(mistake.value)
        assert message.startswith(f"{option.name}: expected ")
        assert repr(value) in message


def test_strategies_name_the_options_that_describe_them() -> None:
    for row in packsim.strategies():
        assert row.options == tuple(option.name for option in packsim.options(row.name))
    table = {row["name"]: row for row in _core.options()}
    assert packsim.options("flexsp")[0].default == table["flexsp_buckets"]["default"]
