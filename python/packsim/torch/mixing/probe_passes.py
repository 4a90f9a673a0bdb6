"""What probes have cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ProbePasses:
    """Passes of one process that trained nothing.

    Attributes
    ----------
    gradient_passes, gradient_samples, gradient_tokens : int
        Forward and backward: calls of the model, and the samples and tokens in them.
    forward_passes, forward_samples, forward_tokens : int
        Forward alone.
    """

    gradient_passes: int = 0
    gradient_samples: int = 0
    gradient_tokens: int = 0
    forward_passes: int = 0
    forward_samples: int = 0
    forward_tokens: int = 0

    @property
    def forward_equivalent_tokens(self) -> int:
        """Tokens of forward passes that take as long: a backward pass takes two forward passes' time."""
        return 3 * self.gradient_tokens + self.forward_tokens

    def add_gradient(self, n_samples: int, n_tokens: int) -> None:
        """One pass forward and backward."""
        self.gradient_passes += 1
        self.gradient_samples += n_samples
        self.gradient_tokens += n_tokens

    def add_forward(self, n_samples: int, n_tokens: int) -> None:
        """One pass forward."""
        self.forward_passes += 1
        self.forward_samples += n_samples
        self.forward_tokens += n_tokens
