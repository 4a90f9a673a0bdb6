"""Recomputed layers: as many as set, with the same gradients."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import training  # noqa: E402

from packsim.torch import CheckpointedLayers  # noqa: E402

IDS = torch.arange(1, 13)[None]
POSITIONS = torch.arange(12)[None]


class Calls:
    """Forward calls of each layer."""

    def __init__(self, layers: torch.nn.ModuleList) -> None:
        self.of_layer = [0] * len(layers)
        for index, layer in enumerate(layers):
            # Of a module inside the layer: recomputation does not call the layer, but what is in it.
            layer.attention_norm.register_forward_pre_hook(self._counter(index))

    def _counter(self, index: int) -> Any:
        def count(*_: Any) -> None:
            self.of_layer[index] += 1

        return count


def test_as_many_layers_as_set_are_recomputed_and_gradients_stay() -> None:
    model = training.TinyLlama(training.Config(n_layers=3), dtype=torch.float64)
    model(IDS, POSITIONS).square().sum().backward()
    expected = training.flat_gradient(model)
    names = list(model.state_dict())
    calls = Calls(model.layers)
    layers = CheckpointedLayers(model.layers)
    assert list(model.state_dict()) == names
    # From one micro-batch to the next.
    for n in (0, 2, 3, 1, 7):
        layers.set(n)
        assert layers.n_recomputed == min(n, 3)
        calls.of_layer = [0] * 3
        model.zero_grad()
        loss = model(IDS, POSITIONS).square().sum()
        assert calls.of_layer == [1, 1, 1]
        loss.backward()
        assert calls.of_layer == [2 if index < n else 1 for index in range(3)]
        torch.testing.assert_close(training.flat_gradient(model), expected, rtol=1e-12, atol=0)
    with pytest.raises(ValueError, match="n_recomputed: expected >= 0, got -1"):
        layers.set(-1)


def test_nothing_is_kept_for_evaluation() -> None:
    model = training.model()
    plain = copy.deepcopy(model)
    CheckpointedLayers(model.layers, 2)
    with torch.no_grad():
        assert torch.equal(model(IDS, POSITIONS), plain(IDS, POSITIONS))
