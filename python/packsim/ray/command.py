"""What `packsim sweep --ray` starts: a sweep on a cluster, with messages and exit codes of the program."""

from __future__ import annotations

import argparse
import logging
import socket
import sys
import time
from collections.abc import Sequence

from packsim.ray._ray import import_ray
from packsim.ray.sweeping import sweep

_USER_MISTAKE = 2
_MACHINE_FAILURE = 3
_INTERRUPTED = 130
_SAY_S = 2.0  # between lines of progress
_REACH_S = 10.0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(words)
    ray = import_ray()
    try:
        _reach(arguments.address)
        ray.init(address=arguments.address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # of Ray, of many kinds
        return _refuse(f"--ray: cannot use the cluster {arguments.address}: {error}", _MACHINE_FAILURE)
    try:
        sweep(
            arguments.grid,
            out=arguments.out,
            vary=arguments.vary,
            set=arguments.set,
            progress=None if arguments.quiet else _Progress(),
        )
    except ValueError as error:
        return _refuse(str(error), _USER_MISTAKE)
    except OSError as error:
        return _refuse(str(error.strerror or error), _MACHINE_FAILURE)
    except RuntimeError as error:
        return _refuse(str(error), _MACHINE_FAILURE)
    except KeyboardInterrupt:
        return _refuse("interrupted (SIGINT); the database has the points that were done", _INTERRUPTED)
    finally:
        ray.shutdown()
    return 0


def _reach(address: str) -> None:
    """Raise OSError where nothing listens at host:port: Ray would try again for many minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()


class _Progress:
    """Says on stderr how far the sweep is, and at most every _SAY_S."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._next = _SAY_S

    def __call__(self, n_done: int, n_parts: int) -> None:
        elapsed_s = time.monotonic() - self._began
        if elapsed_s < self._next and n_done < n_parts:
            return
        self._next = elapsed_s + _SAY_S
        left_s = elapsed_s / n_done * (n_parts - n_done)
        text = f"[{elapsed_s:.0f} s] {n_done} of {n_parts} parts of the grid, {left_s:.0f} s left"
        print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="packsim sweep --ray", allow_abbrev=False)
    parser.add_argument("grid")
    parser.add_argument("--address", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--vary", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--quiet", action="store_true")
    return parser


def _refuse(message: str, code: int) -> int:
    print(f"packsim: {message.strip()}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
