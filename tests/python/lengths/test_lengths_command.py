"""python -m packsim.lengths, and the bounds on memory and processes."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lengths_data import count_words, json_lines, word_tokenizer

from packsim.lengths import LengthsError, measure_lengths
from packsim.lengths.command import main


def _files(folder: Path) -> list[str]:
    word_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "data.jsonl").write_bytes(json_lines(["a b", "", "a"]))
    return [
        str(folder / "data.jsonl"),
        "--column=text",
        f"--tokenizer={folder}/tokenizer.json",
        f"--out={folder}/lengths.npy",
    ]


def test_command_writes_lengths_and_says_what_they_are(tmp_path: Path) -> None:
    arguments = [*_files(tmp_path), "--processes=2", f"--cache={tmp_path}/cache", "--batch-samples=2"]
    run = subprocess.run(
        [sys.executable, "-m", "packsim.lengths", *arguments], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("Lengths(3 samples, 3 tokens, ")
    assert run.stdout.endswith(f"packsim new --lengths {tmp_path}/lengths.npy --model config.json\n")
    assert np.load(tmp_path / "lengths.npy").tolist() == [2, 0, 1]
    assert len(list((tmp_path / "cache").rglob("*.chunk"))) == 2


def test_command_counts_labels_of_token_ids(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ids": [[1, 2]], "labels": [[-100, 2]]}), tmp_path / "ids.parquet")
    arguments = [f"{tmp_path}/*.parquet", "--column=ids", "--labels-column=labels", f"--out={tmp_path}/x.npz"]
    assert main(arguments) == 0
    with np.load(tmp_path / "x.npz") as arrays:
        # The second of two tokens has loss.
        found = {name: arrays[name].tolist() for name in arrays if name != "source"}
    assert found == {"lengths_tokens": [2], "loss_offsets": [0, 1], "loss_begins": [1], "loss_ends": [2]}


@pytest.mark.parametrize(
    ("change", "status", "expected"),
    [
        (["--column=body"], 2, "data.jsonl:1: expected a column body, got columns text"),
        (["--processes=0"], 2, "processes: expected an integer of at least 1, got 0"),
        (["--out=x.csv"], 2, "--out: expected a file ending in .npy or .npz, got x.csv"),
        (["--out=/none/of/it/x.npy"], 2, "--out: expected an existing folder, got /none/of/it"),
        (["--tokenizer=/none.json"], 2, "/none.json: No such file or directory"),
        (["--tokenizer=/bin/true"], 2, "/bin/true: expected a tokenizer.json, got "),
        (["--cache=/bin/true/cache"], 3, "/bin/true/cache"),
    ],
)
def test_mistakes_go_to_stderr(
    change: list[str], status: int, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*_files(tmp_path), *change]) == status
    captured = capsys.readouterr()
    assert expected in captured.err
    assert captured.out == ""
    assert not (tmp_path / "lengths.npy").exists()


def test_missing_arguments_are_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["data.jsonl"])
    assert caught.value.code == 2
    assert "required: --out" in capsys.readouterr().err


def test_command_truncates_only_if_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = _files(tmp_path)
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(1)
    tokenizer.enable_padding(pad_token="a")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert main(arguments) == 2
    assert "expected no truncation, got one at 1 tokens; --without-truncation" in capsys.readouterr().err
    assert main([*arguments, "--without-truncation"]) == 0
    assert np.load(tmp_path / "lengths.npy").tolist() == [2, 0, 1]


_MEMORY = """
import sys
import pyarrow.compute, pyarrow.parquet
from packsim.lengths import measure_lengths

def highest_bytes():
    # Of this program alone: ru_maxrss begins with what the parent had.
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    return int(lines["VmHWM"].split()[0]) * 1024

before = highest_bytes()
if sys.argv[2] == "ids":
    lengths = measure_lengths(sys.argv[1], column="ids")
else:
    lengths = measure_lengths(sys.argv[1], len, column="text", processes=2)
print(len(lengths), int(lengths.lengths_tokens.sum()))
print(highest_bytes() - before)
"""


@pytest.mark.parametrize("what", ["ids", "text"])
def test_memory_does_not_grow_with_the_data(what: str, tmp_path: Path) -> None:
    # One row group of 400 000 rows, which hold 160 MB of token ids or of text: 100 ids or 400 letters each.
    n_rows, path = 400_000, tmp_path / "data.parquet"
    batch_rows = 10_000
    schema = pa.schema({"ids": pa.list_(pa.int32())} if what == "ids" else {"text": pa.string()})
    random = np.random.default_rng(1)
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        batches = []
        for _ in range(n_rows // batch_rows):
            if what == "ids":
                values = pa.array(random.integers(0, 2**17, batch_rows * 100, np.int32))
                offsets = pa.array(np.arange(0, batch_rows * 100 + 1, 100, dtype=np.int32))
                batches.append(pa.ListArray.from_arrays(offsets, values))
            else:
                letters = random.integers(97, 123, batch_rows * 400, np.uint8).tobytes()
                offsets = pa.py_buffer(np.arange(0, batch_rows * 400 + 1, 400, dtype=np.int32))
                batches.append(pa.StringArray.from_buffers(batch_rows, offsets, pa.py_buffer(letters)))
        writer.write_table(pa.table([pa.chunked_array(batches)], schema=schema), row_group_size=n_rows)
    assert path.stat().st_size > 156_000_000
    run = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(path), what], capture_output=True, text=True, check=True
    )
    counts, grown_bytes = run.stdout.splitlines()
    assert counts == f"{n_rows} {100 * n_rows if what == 'ids' else 400 * n_rows}"
    # The result is 4 MB, a chunk of 1000 rows 0.4 MB; the rest are pages and what the allocator keeps.
    assert int(grown_bytes) < 100_000_000, grown_bytes


def test_generator_is_read_a_few_chunks_ahead() -> None:
    n_given = n_seen_most = 0
    done = 0

    def samples() -> object:
        nonlocal n_given, n_seen_most
        for _ in range(1000):
            n_given += 1
            n_seen_most = max(n_seen_most, n_given - done)
            yield "a"

    def progress(n_samples: int, total: int | None) -> None:
        nonlocal done
        assert total is None
        done = n_samples

    measure_lengths(samples(), count_words, processes=2, batch_samples=10, progress=progress)
    # Four chunks of 10 for two workers, and the one that is read meanwhile.
    assert done == 1000
    assert n_seen_most <= 50


def test_progress_counts_up_to_the_total() -> None:
    seen: list[tuple[int, int | None]] = []
    measure_lengths(["a"] * 5, len, batch_samples=2, progress=lambda *counts: seen.append(counts))
    assert seen == [(2, 5), (4, 5), (5, 5)]


def _end_the_process(text: str) -> int:
    os._exit(9)


def test_worker_that_dies_ends_the_run() -> None:
    with pytest.raises(RuntimeError, match="a worker process ended before its chunk was measured"):
        measure_lengths(["a"] * 5, _end_the_process, processes=2)


def test_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)

    def setting(_: str) -> int:
        return int(os.environ["TOKENIZERS_PARALLELISM"] == "false")

    assert measure_lengths(["a"], setting, processes=2).lengths_tokens.tolist() == [1]
    assert "TOKENIZERS_PARALLELISM" not in os.environ
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    assert measure_lengths(["a"], setting, processes=2).lengths_tokens.tolist() == [0]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_start_by_any_method(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context = multiprocessing.get_context(method)
    monkeypatch.setattr(multiprocessing, "get_context", lambda: context)
    tokenizer = word_tokenizer()
    table = pa.table({"text": ["a b", "", "a"]})
    lengths = measure_lengths(table, tokenizer, column="text", processes=2, batch_samples=1)
    assert lengths.lengths_tokens.tolist() == [2, 0, 1]
    with pytest.raises(
        LengthsError, match="tokenize: expected a tokenizer that can be pickled, or processes=1"
    ):
        measure_lengths(table, lambda text: len(text), column="text", processes=2)


def test_open_files_do_not_pile_up(tmp_path: Path) -> None:
    for number in range(60):
        pq.write_table(pa.table({"text": ["a"]}), tmp_path / f"{number}.parquet")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_open = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_open + 20, hard))
    try:
        lengths = measure_lengths(tmp_path / "*.parquet", count_words, column="text")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(lengths) == 60
