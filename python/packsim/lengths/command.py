"""The command line: data files and a tokenizer.json in, a file of lengths out."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from packsim._optional import import_optional
from packsim.lengths.errors import LengthsError
from packsim.lengths.formats import FORMATS
from packsim.lengths.measure import measure_lengths

_EXIT_USER, _EXIT_MACHINE, _EXIT_INTERRUPTED = 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0; 2 user's mistakes; 3 the machine's; 130 interrupted."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            _run(_parser().parse_args(arguments))
    except LengthsError as error:
        print(error, file=sys.stderr)
        return _EXIT_USER
    except OSError as error:
        print(f"{error.filename}: {error.strerror}" if error.filename else error, file=sys.stderr)
        return _EXIT_USER if isinstance(error, FileNotFoundError) else _EXIT_MACHINE
    except (ImportError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return _EXIT_MACHINE
    except KeyboardInterrupt:
        print("interrupted: with --cache, the same command goes on from here", file=sys.stderr)
        return _EXIT_INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m packsim.lengths",
        description="Measures the token lengths of data files and writes them for packsim.",
    )
    parser.add_argument("data", nargs="+", help=f"folders, or files ending in {', '.join(FORMATS)}")
    parser.add_argument("--column", help="text, or with no --tokenizer token ids or lengths")
    parser.add_argument("--tokenizer", help="a tokenizer.json of the tokenizers library")
    parser.add_argument("--labels-column", help="labels beside token ids; those other than -100 are counted")
    parser.add_argument("--out", required=True, help=".npy for the packsim program, or .npz with loss tokens")
    parser.add_argument("--processes", type=int, default=1, help="default: 1")
    parser.add_argument("--batch-samples", type=int, default=1000, help="samples a chunk, default: 1000")
    parser.add_argument("--cache", help="folder of measured chunks; a killed run goes on from there")
    parser.add_argument(
        "--without-special-tokens", action="store_true", help="such as those at start and end"
    )
    parser.add_argument(
        "--without-truncation", action="store_true", help="measure in full although the tokenizer truncates"
    )
    return parser


def _run(options: argparse.Namespace) -> None:
    if not options.out.endswith((".npy", ".npz")):
        raise LengthsError(f"--out: expected a file ending in .npy or .npz, got {options.out}")
    if not Path(options.out).parent.is_dir():
        raise LengthsError(f"--out: expected an existing folder, got {Path(options.out).parent}")
    progress = _Progress(sys.stderr)
    try:
        lengths = measure_lengths(
            [Path(path) for path in options.data],
            _tokenizer(options),
            column=options.column,
            labels_column=options.labels_column,
            add_special_tokens=not options.without_special_tokens,
            processes=options.processes,
            batch_samples=options.batch_samples,
            cache=options.cache,
            progress=progress,
        )
    finally:
        progress.end()
    lengths.save(options.out)
    print(lengths)
    if options.out.endswith(".npy"):
        command = f"packsim new --lengths {shlex.quote(options.out)} --model config.json"
        print(f"Next, a scenario of your job: {command}")


def _tokenizer(options: argparse.Namespace) -> Any:
    path = options.tokenizer
    if path is None:
        return None
    tokenizers = import_optional("tokenizers", "--tokenizer")
    text = _read(path)
    try:
        tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:
        raise LengthsError(f"{path}: expected a tokenizer.json, got {error}") from error
    # Padding is of batches, not of samples.
    tokenizer.no_padding()
    if tokenizer.truncation is not None:
        if not options.without_truncation:
            length = tokenizer.truncation["max_length"]
            raise LengthsError(
                f"{path}: expected no truncation, got one at {length} tokens; "
                "--without-truncation measures in full"
            )
        tokenizer.no_truncation()
    return tokenizer


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LengthsError(f"{path}: expected a tokenizer.json, got bytes that are no text") from error


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {message}", file=sys.stderr)


class _Progress:
    """A line on the stream that is rewritten, from a second on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._start_s = self._shown_s = time.monotonic()
        self._is_shown = False

    def __call__(self, n_samples: int, total: int | None) -> None:
        now_s = time.monotonic()
        if now_s - self._shown_s < 1.0:
            return
        self._shown_s = now_s
        self._is_shown = True
        of = f" of {total}" if total is not None else ""
        per_s = n_samples / (now_s - self._start_s)
        print(f"\r{n_samples}{of} samples, {per_s:.0f}/s", end="", file=self._stream, flush=True)

    def end(self) -> None:
        """Ends the line before anything else is written there."""
        if self._is_shown:
            print(file=self._stream)
