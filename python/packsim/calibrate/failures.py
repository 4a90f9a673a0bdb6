"""What fails on one process fails on all of them: the others would wait for it in vain."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_LINES = 10


def together(of_processes: Sequence[ValueError | OSError | None]) -> ValueError | OSError | None:
    """One error with the mistakes of all processes, each once; None where there are none.

    of_processes: by rank. A line that not all processes have names the first one that does.
    """
    where: dict[str, list[int]] = {}
    for rank, failure in enumerate(of_processes):
        for line in str(failure).splitlines() if failure is not None else ():
            where.setdefault(line, []).append(rank)
    if not where:
        return None
    lines = [
        line if len(ranks) == len(of_processes) else f"process {ranks[0]}: {line}"
        for line, ranks in where.items()
    ]
    more = [f"and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    text = "\n".join(lines[:_MOST_LINES] + more)
    is_of_machine = any(isinstance(failure, OSError) for failure in of_processes)
    return OSError(text) if is_of_machine else ValueError(text)
