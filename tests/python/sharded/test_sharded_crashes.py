"""Processes that are killed and disks that are full leave nothing that counts, and lose nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sharded_data import ARGUMENTS, drawn, packed

from packsim.sharded import ShardArguments, ShardedPacks, ShardError, pack_shard
from packsim.sharded import checked_files as files
from packsim.sharded import shard as shard_module


class Killed(BaseException):
    """Ends the process as far as the code can tell."""


# Three shards, the leftovers and the manifest: a file and a record for each shard, and two. For each of these
# eight, the disk is waited for twice: for the file and for its folder.
@pytest.mark.parametrize(("step", "n_expected"), [("fsync", 16), ("replace", 8)])
def test_a_crash_at_any_step_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, n_expected: int
) -> None:
    # Packs of 64, 30; 64, 30; 57: of the last of each, 30 + 30 and 50 + 7 are made.
    shards = [np.array([64, 30]), np.array([64, 30]), np.array([50, 7])]
    expected = packed(tmp_path / "whole", shards)
    assert expected.manifest["leftovers"]
    real = getattr(os, step)
    n_steps = 0
    for killed_at in range(100):
        folder = tmp_path / f"{killed_at}"
        calls = 0

        def fragile(*arguments: Any, _killed_at: int = killed_at) -> None:
            nonlocal calls
            calls += 1
            if calls > _killed_at:
                raise Killed
            real(*arguments)

        # A process that is killed tidies nothing up.
        with monkeypatch.context() as patched:
            patched.setattr(os, step, fragile)
            patched.setattr(files.Path, "unlink", lambda *a, **k: None)
            try:
                packed(folder, shards)
                n_steps = killed_at
            except Killed:
                # The last call of all waits for the folder with the manifest.
                if killed_at == 15:
                    ShardedPacks.open(folder).check()
                else:
                    with pytest.raises(ShardError, match="expected a manifest, found none"):
                        ShardedPacks.open(folder)
        again = packed(folder, shards)
        assert again.content_hash == expected.content_hash
        again.check()
        assert {path.name for path in folder.iterdir()} == {
            path.name for path in (tmp_path / "whole").iterdir()
        }
        if n_steps:
            break
    assert n_steps == n_expected


def test_packs_of_a_killed_process_with_other_arguments_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: Any) -> None:
        raise Killed

    shards = drawn([40, 40])
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(shard_module, "write_record", killed)
        pack_shard(shards[1], ShardArguments("ffd", 32, over_long="drop"), folder=tmp_path, shard=1)
    (left_behind,) = tmp_path.iterdir()
    packs = packed(tmp_path, shards)
    assert not left_behind.exists()
    packs.check()


def test_a_full_disk_is_named_by_its_path_and_leaves_no_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        pack_shard([3, 4], ARGUMENTS, folder=tmp_path, shard=7)
    assert caught.value.filename.startswith(str(tmp_path / "shard-000007"))
    with pytest.raises(OSError, match="No space left on device") as caught:
        files.write_record(tmp_path / "manifest.json", {})
    assert caught.value.filename == str(tmp_path / "manifest.json")
    assert list(tmp_path.iterdir()) == []
