"""The cache saves work and never gives the lengths of other data."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lengths_data import WRITERS, byte_tokenizer, count_words, json_lines, word_tokenizer

from packsim.lengths import CacheUse, CacheWarning, Lengths, LengthsError, measure_lengths

_TEXTS = [" ".join("a" * (row % 5)) for row in range(23)]  # row % 5 words
_N_WORDS = [row % 5 for row in range(23)]


def _measure(source: Any, cache: Path, tokenize: Any = None, **options: Any) -> Lengths:
    all_options: dict[str, Any] = {"column": "text", "batch_samples": 5} | options
    return measure_lengths(source, tokenize or word_tokenizer(), cache=cache, **all_options)


def _chunks(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.chunk"))


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", WRITERS)
def test_missing_chunks_alone_are_measured(name: str, processes: int, tmp_path: Path) -> None:
    WRITERS[name](_TEXTS, tmp_path / name)
    cache = tmp_path / "cache"
    # 23 samples in chunks of 5: five chunks, the last of 3.
    first = _measure(tmp_path / name, cache, processes=processes)
    assert first.cache_use == CacheUse(n_cached=0, n_measured=5)
    again = _measure(tmp_path / name, cache, processes=processes)
    assert again.cache_use == CacheUse(n_cached=5, n_measured=0)
    for missing in ([0], [4], [1, 3], [0, 1, 2, 3]):
        for index in missing:
            _chunks(cache)[0].with_name(f"{index:08d}.chunk").unlink(missing_ok=True)
        part = _measure(tmp_path / name, cache, processes=processes)
        assert part.cache_use == CacheUse(n_cached=5 - len(missing), n_measured=len(missing))
        assert part.lengths_tokens.tolist() == again.lengths_tokens.tolist() == _N_WORDS
    # Every chunk is there, but no mark that they are all.
    next(cache.rglob("complete")).unlink()
    assert _measure(tmp_path / name, cache).cache_use == CacheUse(n_cached=5, n_measured=0)


def test_loss_tokens_come_from_the_cache_too(tmp_path: Path) -> None:
    path = tmp_path / "ids.parquet"
    pq.write_table(pa.table({"ids": [[1, 2], [3], []], "labels": [[-100, 2], [-100], []]}), path)
    for n_cached in (0, 2):
        lengths = measure_lengths(
            path, column="ids", labels_column="labels", batch_samples=2, cache=tmp_path / "cache"
        )
        assert lengths.cache_use.n_cached == n_cached
        assert lengths.loss_tokens is not None
        assert (lengths.lengths_tokens.tolist(), lengths.loss_tokens.tolist()) == ([2, 1, 0], [1, 0, 0])
    assert measure_lengths(path, column="ids", cache=tmp_path / "cache", batch_samples=2).loss_tokens is None


def test_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    path, cache = tmp_path / "data.jsonl", tmp_path / "cache"
    path.write_bytes(json_lines(["a a", "b"]))
    _measure(path, cache)
    moved = tmp_path / "moved.jsonl"
    path.rename(moved)
    assert _measure(moved, cache).cache_use == CacheUse(n_cached=1)
    # As long as before, written at the same time: only the bytes tell.
    state = moved.stat()
    moved.write_bytes(json_lines(["aaa", "b"]))
    os.utime(moved, ns=(state.st_atime_ns, state.st_mtime_ns))
    edited = _measure(moved, cache)
    assert edited.cache_use == CacheUse(n_measured=1)
    assert edited.lengths_tokens.tolist() == [1, 1]


def test_other_files_of_a_pattern_keep_their_chunks(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_bytes(json_lines(_TEXTS[:7]))
    _measure(tmp_path / "*.jsonl", tmp_path / "cache")
    (tmp_path / "0.jsonl").write_bytes(json_lines(_TEXTS[7:]))
    # 16 new samples are 4 chunks, 7 old ones are 2.
    assert _measure(tmp_path / "*.jsonl", tmp_path / "cache").cache_use == CacheUse(2, 4)


def test_whatever_may_change_lengths_is_measured_again(tmp_path: Path) -> None:
    path, cache = tmp_path / "data.jsonl", tmp_path / "cache"
    path.write_bytes(b'{"text": "a b", "other": "b"}\n')
    _measure(path, cache)
    special = word_tokenizer()
    special.add_special_tokens(["a b"])
    others: list[dict[str, Any]] = [
        {"tokenize": byte_tokenizer()},
        {"tokenize": special},
        {"column": "other"},
        {"batch_samples": 6},
        {"add_special_tokens": False},
        {"tokenizer_key": "mine"},
        {"source_key": "mine"},
        {"tokenize": count_words, "tokenizer_key": "words"},
        {"tokenize": len, "tokenizer_key": "characters"},
        {"tokenize": lambda texts: [len(text) for text in texts], "tokenizer_key": "words", "batched": True},
    ]
    for options in others:
        assert _measure(path, cache, **options).cache_use == CacheUse(n_measured=1), options
    for options in others:
        assert _measure(path, cache, **options).cache_use == CacheUse(n_cached=1), options


def test_function_and_samples_in_memory_need_keys_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(LengthsError) as caught:
        measure_lengths(["a"], len, cache=tmp_path)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == ["tokenizer_key", "source_key"]
    for n_cached in (0, 1):
        lengths = measure_lengths(["a"], len, cache=tmp_path, tokenizer_key="length", source_key="one a")
        assert lengths.cache_use.n_cached == n_cached


def test_source_that_has_grown_under_its_key_is_measured_again(tmp_path: Path) -> None:
    for n_samples in (5, 7):
        texts = ["a"] * n_samples
        lengths = measure_lengths(
            texts, word_tokenizer(), cache=tmp_path, source_key="texts", batch_samples=5
        )
        assert lengths.lengths_tokens.tolist() == [1] * n_samples


def test_data_sets_are_known_by_their_fingerprints(tmp_path: Path) -> None:
    dataset = datasets.Dataset.from_dict({"text": _TEXTS})
    _measure(dataset, tmp_path)
    assert _measure(dataset, tmp_path).cache_use == CacheUse(n_cached=5)
    changed = dataset.map(lambda sample: {"text": sample["text"] + " b"})
    assert _measure(changed, tmp_path).lengths_tokens.tolist() == [n + 1 for n in _N_WORDS]
    assert _measure(dataset.select(range(5)), tmp_path).cache_use == CacheUse(n_measured=1)
    changed.set_transform(lambda batch: {"text": ["a"] * len(batch["text"])})
    with pytest.raises(LengthsError, match="source_key"):
        _measure(changed, tmp_path)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "longer", "swap"])
def test_damaged_chunks_are_counted_and_measured_again(damage: str, processes: int, tmp_path: Path) -> None:
    path, cache = tmp_path / "data.jsonl", tmp_path / "cache"
    path.write_bytes(json_lines(_TEXTS))
    _measure(path, cache)
    chunks = _chunks(cache)
    content = chunks[1].read_bytes()
    damaged = {
        "flip": content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        "cut": content[:-4],
        "empty": b"",
        "longer": content + b"\0\0\0\0",
        "swap": chunks[2].read_bytes(),  # a whole chunk in the place of another
    }[damage]
    chunks[1].write_bytes(damaged)
    with pytest.warns(
        CacheWarning, match=r"00000001\.chunk: expected a whole chunk, got a damaged one"
    ) as seen:
        lengths = _measure(path, cache, processes=processes)
    assert len(seen) == 1
    assert lengths.cache_use == CacheUse(n_cached=4, n_measured=1, n_corrupt=1)
    assert lengths.lengths_tokens.tolist() == _N_WORDS
    assert chunks[1].read_bytes() == content
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _measure(path, cache).cache_use == CacheUse(n_cached=5)


def test_chunks_with_bad_rows_are_not_stored(tmp_path: Path) -> None:
    path, cache = tmp_path / "data.jsonl", tmp_path / "cache"
    path.write_bytes(json_lines(_TEXTS[:5]) + b"{}\n")
    for _ in range(2):
        with pytest.raises(LengthsError, match="data.jsonl:6"):
            _measure(path, cache)
    assert [chunk.name for chunk in _chunks(cache)] == ["00000000.chunk"]
    assert not list(cache.rglob("complete"))


def test_left_over_files_of_killed_runs_are_removed(tmp_path: Path) -> None:
    path, cache = tmp_path / "data.jsonl", tmp_path / "cache"
    path.write_bytes(json_lines(_TEXTS))
    _measure(path, cache)
    folder = _chunks(cache)[0].parent
    dead, living = (folder / f".00000000.chunk.{16 * digit}.partial" for digit in "01")
    dead.touch()
    with living.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _measure(path, cache)
    assert list(folder.glob(".*.partial")) == [living]


_RUN = textwrap.dedent(
    """
    import sys, time
    from packsim.lengths import measure_lengths

    def slow(text):
        time.sleep(0.002)
        return len(text)

    if __name__ == "__main__":
        lengths = measure_lengths(sys.argv[1], slow, column="text", batch_samples=5, cache=sys.argv[2],
                                  tokenizer_key="slow", processes=int(sys.argv[3]))
        print(lengths.lengths_tokens.tolist())
        print(lengths.cache_use.n_cached, lengths.cache_use.n_measured, lengths.cache_use.n_corrupt)
    """
)


def _start(script: Path, data: Path, cache: Path, processes: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), str(data), str(cache), str(processes)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _members(session: int) -> list[int]:
    """Live processes of a session."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


@pytest.mark.parametrize("processes", [1, 3])
def test_killed_run_goes_on_at_the_first_missing_chunk(processes: int, tmp_path: Path) -> None:
    script, data, cache = tmp_path / "run.py", tmp_path / "data.jsonl", tmp_path / "cache"
    script.write_text(_RUN)
    texts = ["x" * (row % 7) for row in range(500)]  # 100 chunks of 10 ms
    data.write_bytes(json_lines(texts))
    n_kills = 0
    for n_stored in (1, 17, 33, 50, 70):
        run = _start(script, data, cache, processes)
        while len(_chunks(cache)) < n_stored and run.poll() is None:
            time.sleep(0.0005)
        run.send_signal(signal.SIGKILL)
        run.wait()
        n_kills += run.returncode == -signal.SIGKILL
        end_s = time.monotonic() + 10
        while _members(run.pid) and time.monotonic() < end_s:
            time.sleep(0.01)
        assert not _members(run.pid), "workers outlived the killed run"
    assert n_kills == 5
    n_before = len(_chunks(cache))
    output, errors = _start(script, data, cache, processes).communicate()
    lengths, use = output.splitlines()
    assert lengths == str([len(text) for text in texts]), errors
    # What was stored is kept, what was not is measured: 100 chunks in all.
    assert use == f"{n_before} {100 - n_before} 0"
    assert 70 <= n_before < 100


def test_runs_at_a_time_share_a_cache(tmp_path: Path) -> None:
    script, data, cache = tmp_path / "run.py", tmp_path / "data.jsonl", tmp_path / "cache"
    script.write_text(_RUN)
    texts = ["x" * (row % 7) for row in range(300)]
    data.write_bytes(json_lines(texts))
    runs = [_start(script, data, cache, processes) for processes in (1, 2, 1)]
    for run in runs:
        output, errors = run.communicate()
        assert output.splitlines()[0] == str([len(text) for text in texts]), errors
        assert output.splitlines()[1].endswith(" 0")
    assert len(_chunks(cache)) == 60
    assert not list(cache.rglob("*.partial"))
