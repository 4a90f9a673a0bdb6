"""The model of a run as `packsim calibrate` finds it: a file beside the rows, or what the user names."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from packsim._whole_file import write_whole

# Of our own files, and of Hugging Face configs.
_SIZES = {
    "layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "ffn_size": "intermediate_size",
    "vocab_size": "vocab_size",
}


def config_beside(rows: str, config: Any, writes: bool = True) -> str:
    """The path of the config beside the rows, as rows name it.

    writes: one process of several writes it.

    Raises
    ------
    ValueError
        For a folder whose name has a space, and where a file of this name has another model.
    """
    named = str(getattr(config, "_name_or_path", "") or config.model_type)
    name = re.sub(r"[^a-z0-9.-]+", "-", named.rstrip("/").rsplit("/", 1)[-1].lower()).strip("-.") or "model"
    path = os.path.join(os.path.dirname(rows) or ".", f"{name}.json")
    if any(character.isspace() for character in path):
        raise ValueError(f"{rows}: expected a path without spaces, as rows name a model beside it, got one")
    if not writes:
        return path
    if not os.path.exists(path):
        text = json.dumps(json.loads(config.to_json_string(use_diff=False)), indent=1, sort_keys=True)
        write_whole(path, f"{text}\n".encode())
    elif different := different_sizes(_read(Path(path)), config):
        raise ValueError(f"{path}: expected the config of this model, got another: {', '.join(different)}")
    return path


def named_model(name: str) -> dict[str, Any] | None:
    """What the file of a model says; None for a shipped one where packsim's data are not beside this Python.

    Raises
    ------
    ValueError
        For a file that is not there, or is no JSON object.
    """
    if "/" not in name and not name.endswith(".json"):
        path = _shipped(name)
        return None if path is None else _read(path)
    return _read(Path(name))


def layers_in(model: dict[str, Any]) -> int | None:
    for key in ("layers", _SIZES["layers"]):
        if isinstance(model.get(key), int):
            return int(model[key])
    return None


def different_sizes(model: dict[str, Any], config: Any) -> list[str]:
    """Sizes in which a model's file differs from the config of a run: "heads 32 there and 16 here"."""
    found = []
    for ours, theirs in _SIZES.items():
        said = model.get(ours, model.get(theirs))
        seen = getattr(config, theirs, None)
        if said is not None and seen is not None and said != seen:
            found.append(f"{ours} {said} there and {seen} here")
    return found


def _shipped(name: str) -> Path | None:
    folders = [os.environ.get("PACKSIM_DATA"), os.path.join(sys.prefix, "share", "packsim")]
    for folder in folders:
        models = Path(folder or "") / "models" / "architectures"
        if not folder or not models.is_dir():
            continue
        if (models / f"{name}.json").exists():
            return models / f"{name}.json"
        known = ", ".join(sorted(path.stem for path in models.glob("*.json")))
        raise ValueError(f"model_name: expected a path, or one of {known}, got {name!r}")
    return None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise ValueError(f"{path}: expected the file of a model, got: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, got: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content
