"""The forward passes of a model in a step, as hooks of the model see them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from packsim.calibrate.documents_seen import INPUT_NAMES
from packsim.torch.attention_routes import unwrapped
from packsim.torch.checkpointed_layers import CheckpointedLayers, checkpointed_by


@dataclass
class Call:
    """One forward pass.

    Attributes
    ----------
    inputs : dict
        Of what the model was called with, what says documents and tokens. Tensors are where they were.
    has_gradients : bool
        Whether a backward pass may follow.
    n_recomputed : int or None
        Layers that a CheckpointedLayers recomputes of it.
    logits_shape : tuple of int or None
        Of the logits that it returned; None where it returned none.
    """

    inputs: dict[str, Any]
    has_gradients: bool
    n_recomputed: int | None = None
    logits_shape: tuple[int, ...] | None = None


class ForwardCalls:
    """Notes the forward passes of a model, or of what a wrapper calls, between `begin()` and `end()`.

    It neither copies tensors nor waits for the GPU.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = unwrapped(model)
        self._parameters = signature(self._model.forward)
        self._calls: list[Call] | None = None
        self._checkpointed: CheckpointedLayers | None = None
        before, after = _outside_compilation(self._before), _outside_compilation(self._after)
        self._hooks = [
            self._model.register_forward_pre_hook(before, with_kwargs=True),
            self._model.register_forward_hook(after),
        ]

    def begin(self) -> None:
        """Forgets what a step that did not end has left."""
        self._calls = []
        self._checkpointed = checkpointed_by(self._model)

    def end(self) -> list[Call]:
        calls, self._calls = self._calls or [], None
        return calls

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _before(self, module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        del module
        if self._calls is None:
            return
        inputs = self._named(given) | named
        known = {name: inputs[name] for name in INPUT_NAMES if inputs.get(name) is not None}
        n_recomputed = None if self._checkpointed is None else self._checkpointed.n_recomputed
        self._calls.append(Call(known, torch.is_grad_enabled(), n_recomputed))

    def _after(self, module: nn.Module, given: tuple[Any, ...], returned: Any) -> None:
        del module, given
        if not self._calls:
            return
        logits = returned if isinstance(returned, Tensor) else _logits(returned)
        self._calls[-1].logits_shape = None if logits is None else tuple(logits.shape)

    def _named(self, given: tuple[Any, ...]) -> dict[str, Any]:
        try:
            bound = self._parameters.bind_partial(*given).arguments
        except TypeError:  # the model says so itself
            return {}
        # Of forward(*args): the first is what has the tokens.
        rest = bound.pop("args", ())
        return ({"input_ids": rest[0]} if rest else {}) | bound


class ProductFormat:
    """The number format of what the first matrix product of a model returns, whatever made it so."""

    def __init__(self, model: nn.Module) -> None:
        self.dtype: torch.dtype | None = None
        layers = [
            module
            for name, module in model.named_modules()
            if isinstance(module, nn.Linear) and "lm_head" not in name
        ]
        self._hook = layers[0].register_forward_hook(self._note) if layers else None

    def remove(self) -> None:
        if self._hook is not None:
            self._hook.remove()

    def _note(self, module: nn.Module, given: tuple[Any, ...], returned: Any) -> None:
        del module, given
        if isinstance(returned, Tensor):
            self.dtype = returned.dtype


def _logits(returned: Any) -> Tensor | None:
    logits = getattr(returned, "logits", None)
    return logits if isinstance(logits, Tensor) else None


def _outside_compilation(hook: Callable[..., None]) -> Callable[..., None]:
    """torch.compile does not trace it, where the process has it."""
    if "torch._dynamo" not in sys.modules:
        return hook
    outside: Callable[..., None] = torch.compiler.disable(hook)  # type: ignore[no-untyped-call]
    return outside
