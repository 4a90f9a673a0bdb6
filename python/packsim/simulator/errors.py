"""Mistakes in a scenario, as the program words them."""

from __future__ import annotations

from collections.abc import Iterable


class ScenarioError(ValueError):
    """Every mistake in a scenario, in the files that it names and in its data.

    Attributes
    ----------
    messages : tuple of str
        One for each mistake: its place, what was expected and what came. They are the lines that the program
        prints.
    """

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__(self.messages)

    def __str__(self) -> str:
        return "\n".join(self.messages)
