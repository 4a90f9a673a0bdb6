"""Samples of mixed lengths that a small model can learn, instead of a data set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

VOCABULARY = 61


def samples(n_samples: int, longest_tokens: int = 96, seed: int = 0) -> list[NDArray[np.int64]]:
    """Token ids 1 to VOCABULARY - 1; 0 pads. Each sample counts on in steps of its own."""
    generator = np.random.RandomState(seed)
    lengths_tokens = np.clip(generator.lognormal(2.8, 0.8, n_samples), 2, longest_tokens).astype(int)
    begins = generator.randint(0, VOCABULARY - 1, n_samples)
    steps = generator.randint(1, 4, n_samples)
    return [
        (begin + step * np.arange(n)) % (VOCABULARY - 1) + 1
        for n, begin, step in zip(lengths_tokens, begins, steps, strict=True)
    ]
