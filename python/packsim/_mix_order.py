"""The order in which sources take turns so that each has its share at any time."""

from __future__ import annotations

from collections.abc import Mapping

_ROUNDING = 1e-9


class MixOrder:
    """Turns of sources by weights: after any number of turns, each has had its share to within one turn.

    Tijdeman's rule for the chairman assignment problem (Discrete Mathematics 32, 1980): of the sources that
    have waited long enough, the one that would first be too late. With k sources none is ever further than
    1 - 1 / (2 k - 2) turns from its share.

    Parameters
    ----------
    weights : mapping
        Of each source, not all 0; those of weight 0 get no turn. Shares are weights over their sum.
    ties : mapping
        Of each source its place among those that are due at the same time.
    taken : mapping, optional
        Turns that each has had.
    """

    def __init__(
        self, weights: Mapping[str, float], ties: Mapping[str, int], taken: Mapping[str, int] | None = None
    ) -> None:
        total = sum(weights.values())
        self._shares = {name: weight / total for name, weight in weights.items() if weight > 0}
        self._ties = ties
        self.taken = {name: 0 for name in self._shares} | dict(taken or {})
        self._n_taken = sum(self.taken.values())
        self._slack = 1 / (2 * len(self._shares) - 2) if len(self._shares) > 1 else 0.0

    def next(self) -> str:
        """Whose turn it is; `take()` says that it was taken."""
        n = self._n_taken + 1
        taken, shares = self.taken, self._shares
        waited = [name for name in shares if shares[name] * n - taken[name] >= self._slack - _ROUNDING]
        return min(waited, key=self._latest)

    def take(self, name: str) -> None:
        self.taken[name] += 1
        self._n_taken += 1

    def _latest(self, name: str) -> tuple[float, int]:
        """Returns the number of turns after which the source would have waited too long."""
        return (1 - self._slack + self.taken[name]) / self._shares[name], self._ties[name]
