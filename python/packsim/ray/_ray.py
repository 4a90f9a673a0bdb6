"""Ray, imported when it is needed, and what comes of its tasks."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any

from packsim._optional import import_optional

_LOOK_S = 1.0  # between looks at which tasks have ended


def import_ray(name: str = "ray") -> Any:
    """A module of Ray. ImportError says how to install it."""
    return import_optional(name, "packsim.ray", "ray")


def results_of(
    tasks: Mapping[Any, int], failures: dict[int, BaseException]
) -> Generator[tuple[int, Any], None, None]:
    """Yields (number, result) of each task as it ends; errors of those that ended otherwise go to `failures`.

    Where the loop over them ends early, the others are cancelled.
    """
    ray = import_ray()
    waiting = dict(tasks)
    try:
        while waiting:
            ended, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=_LOOK_S)
            for task in ended:
                number = waiting.pop(task)
                try:
                    result = ray.get(task)
                except Exception as error:  # of Ray: the worker died, or the task raised
                    failures[number] = error
                    continue
                yield number, result
    finally:
        for task in waiting:
            ray.cancel(task)


def raise_failures(failures: Mapping[int, BaseException], undone: str, mistakes: Iterable[str] = ()) -> None:
    """RuntimeError where there are any. undone: what the shards are not; mistakes: lines before them."""
    texts = list(mistakes)
    for shard, error in sorted(failures.items()):
        cause = getattr(error, "cause", None) or error
        texts.append(f"shard {shard}: {undone}, call again to go on: {type(cause).__name__}: {cause!s:.300}")
    if failures:
        raise RuntimeError("\n".join(texts)) from next(iter(failures.values()))
