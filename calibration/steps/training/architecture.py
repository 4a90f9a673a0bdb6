"""Sizes of a dense transformer, from a shipped JSON or a Hugging Face config.json."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from calibration.steps.errors import MachineError, UserError

SHIPPED_FOLDER = Path(__file__).resolve().parents[3] / "models" / "architectures"
_DENSE_MODEL_TYPES = ("llama", "mistral", "qwen2")


class OtherLayers(UserError):
    """A model whose layers the steps would not run as they are, but as plain dense ones."""


@dataclass(frozen=True)
class Architecture:
    name: str
    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_size: int
    vocab_size: int
    tied_embeddings: bool
    qkv_bias: bool

    def layer_parameters(self) -> int:
        q_size, kv_size = self.heads * self.head_dim, self.kv_heads * self.head_dim
        projections = self.hidden_size * (2 * q_size + 2 * kv_size + 3 * self.ffn_size)
        return projections + 2 * self.hidden_size + (q_size + 2 * kv_size if self.qkv_bias else 0)

    def parameters(self, layers: int) -> int:
        embeddings = self.vocab_size * self.hidden_size * (1 if self.tied_embeddings else 2)
        return layers * self.layer_parameters() + embeddings + self.hidden_size


def _of_hugging_face(config: dict[str, Any], name: str) -> dict[str, Any]:
    heads = config.get("num_attention_heads")
    hidden_size = config.get("hidden_size")
    has_sizes = isinstance(heads, int) and isinstance(hidden_size, int) and heads > 0
    model_type = config.get("model_type")
    return {
        "name": name,
        "layers": config.get("num_hidden_layers"),
        "hidden_size": hidden_size,
        "heads": heads,
        "kv_heads": config.get("num_key_value_heads") or heads,
        "head_dim": config.get("head_dim") or (hidden_size // heads if has_sizes else None),
        "ffn_size": config.get("intermediate_size"),
        "vocab_size": config.get("vocab_size"),
        "tied_embeddings": config.get("tie_word_embeddings", False),
        # Qwen2 always has it and has no key for it.
        "qkv_bias": model_type == "qwen2" or config.get("attention_bias", False),
    }


def _window_of_hugging_face(config: dict[str, Any]) -> Any:
    """The sliding window that is in force; the defaults are transformers'."""
    is_mistral = config["model_type"] == "mistral"
    is_used = is_mistral or config.get("use_sliding_window", False)
    return config.get("sliding_window", 4096) if is_used else None


def _other_layers(values: dict[str, Any]) -> list[str]:
    """What the layers of a model have that those of the steps do not."""
    reasons = {
        "experts": "none: mixtures of experts are not run",
        "latent_attention": "none: latent attention is not run",
        "qk_norm": "false: norms of queries and keys are not run",
        "output_norms": "false: norms of a block's output are not run",
        "fused_projections": "false: fused projections are not run",
        "sliding_window": "none: sliding windows are not run",
    }
    # A value that is false, null or 0 says that it is not there.
    return [
        f"/{key}: expected {reason}, got {json.dumps(values[key])}"
        for key, reason in reasons.items()
        if values.get(key)
    ]


def _mistakes(values: dict[str, Any]) -> list[str]:
    mistakes = []
    for field in fields(Architecture):
        value = values.get(field.name)
        if field.type == "int" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            mistakes.append(f"/{field.name}: expected an integer of at least 1, got {json.dumps(value)}")
        if field.type == "bool" and not isinstance(value, bool):
            mistakes.append(f"/{field.name}: expected true or false, got {json.dumps(value)}")
    if not mistakes and values["heads"] % values["kv_heads"]:
        mistakes.append(f"/kv_heads: expected a divisor of {values['heads']} heads, got {values['kv_heads']}")
    if not mistakes and values["head_dim"] % 2:
        mistakes.append(f"/head_dim: expected an even number, got {values['head_dim']}")
    return mistakes


def load_architecture(path: Path) -> Architecture:
    """Raises UserError with every mistake of the file, OtherLayers for a model that is not a dense one with
    plain grouped-query attention, MachineError if the file cannot be read.

    A config.json is known by its "model_type"; its model is named after its folder.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path}: expected JSON: {error}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: expected an object")
    if "model_type" in values:
        if values["model_type"] not in _DENSE_MODEL_TYPES:
            expected = ", ".join(_DENSE_MODEL_TYPES)
            got = json.dumps(values["model_type"])
            raise OtherLayers(f"{path}: /model_type: expected one of {expected}, got {got}")
        window = _window_of_hugging_face(values)
        values = _of_hugging_face(values, path.resolve().parent.name if path.stem == "config" else path.stem)
        values["sliding_window"] = window
    values.setdefault("name", path.stem)
    if other := _other_layers(values):
        raise OtherLayers("\n".join(f"{path}: {mistake}" for mistake in other))
    mistakes = _mistakes(values)
    if mistakes:
        raise UserError("\n".join(f"{path}: {mistake}" for mistake in mistakes))
    return Architecture(**{field.name: values[field.name] for field in fields(Architecture)})


def known_architectures(paths: list[str]) -> dict[str, Architecture]:
    """The shipped ones that steps can run and those of the files, by name; a file wins over a shipped one of
    its name."""
    architectures = []
    for path in sorted(SHIPPED_FOLDER.glob("*.json")):
        with contextlib.suppress(OtherLayers):
            architectures.append(load_architecture(path))
    architectures += [load_architecture(Path(path)) for path in paths]
    return {architecture.name: architecture for architecture in architectures}
