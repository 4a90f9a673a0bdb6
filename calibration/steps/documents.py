"""The documents of a pack as text, "8x512+1x4096": the twin of models/kernels/documents.hpp."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RUN = re.compile(r"([1-9][0-9]*)x([1-9][0-9]*)")
_MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class Documents:
    """Runs of (number of documents, length_tokens) in the order in which they lie in the pack."""

    runs: tuple[tuple[int, int], ...]

    @staticmethod
    def parse(text: str) -> Documents:
        """Neighbours of one length become one run. Raises ValueError for anything but "8x512+1x4096"."""
        matches = [_RUN.fullmatch(part) for part in text.split("+")]
        if not all(matches):
            raise ValueError(f'expected documents like 8x512+1x4096, got "{text}"')
        return Documents.of_runs([(int(match[1]), int(match[2])) for match in matches if match])

    @staticmethod
    def of_lengths(lengths_tokens: list[int]) -> Documents:
        return Documents.of_runs([(1, length) for length in lengths_tokens])

    @staticmethod
    def of_runs(runs: list[tuple[int, int]]) -> Documents:
        merged: list[tuple[int, int]] = []
        for n_documents, length_tokens in runs:
            if merged and merged[-1][1] == length_tokens:
                merged[-1] = (merged[-1][0] + n_documents, length_tokens)
            else:
                merged.append((n_documents, length_tokens))
        documents = Documents(tuple(merged))
        if documents.tokens > _MOST_TOKENS:
            raise ValueError(f"expected at most {_MOST_TOKENS} tokens, got {documents.tokens}")
        return documents

    @property
    def text(self) -> str:
        return "+".join(f"{n_documents}x{length}" for n_documents, length in self.runs)

    @property
    def tokens(self) -> int:
        return sum(n_documents * length for n_documents, length in self.runs)

    @property
    def longest_tokens(self) -> int:
        return max(length for _, length in self.runs)

    @property
    def lengths_tokens(self) -> list[int]:
        """[n_documents]"""
        return [length for n_documents, length in self.runs for _ in range(n_documents)]

    def padded_to(self, multiple: int) -> Documents:
        """Adds one document of padding if the tokens are no multiple."""
        padding_tokens = -self.tokens % multiple
        return Documents.of_runs([*self.runs, (1, padding_tokens)]) if padding_tokens else self
