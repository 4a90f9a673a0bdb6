"""What can be measured, as text: the twin of models/kernels/kernel_case.cpp, which a test holds it to."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .documents import Documents

_CACHES = ("hot", "cold")
_PASSES = ("fwd", "bwd")
_COLLECTIVES = ("all_to_all", "all_gather", "reduce_scatter", "all_reduce", "send_recv")
_POINTWISE = ("rms_norm", "swiglu", "rope", "residual_add", "cross_entropy", "embedding")
_COPIES = ("device", "host_to_device", "device_to_host")

# Kernel: its keys in order, each with what it may be: the name of a kind of value, or the words it may be.
KERNEL_KINDS: dict[str, dict[str, str | tuple[str, ...]]] = {
    "gemm": {
        "m": "count",
        "n": "count",
        "k": "count",
        "layout": ("tn", "nn", "nt"),
        "cache": _CACHES,
        "dtype": ("bf16", "bf16_into_fp32", "fp8", "fp8_block", "mxfp8", "nvfp4"),
    },
    "attention": {
        "pass": _PASSES,
        "docs": "documents",
        "heads": "count",
        "kv_heads": "count",
        "head_dim": "count",
    },
    "elementwise": {"op": _POINTWISE, "pass": _PASSES, "rows": "count", "cols": "count", "cache": _CACHES},
    "copy": {"kind": _COPIES, "bytes": "count", "cache": _CACHES},
    "adamw": {"parameters": "count"},
    "launch_gap": {},
    "collective": {
        "op": _COLLECTIVES,
        "gpus": "count",
        "nodes": "count",
        "bytes": "count",
        "imbalance": "number",
    },
    "overlap": {
        "m": "count",
        "n": "count",
        "k": "count",
        "op": _COLLECTIVES,
        "gpus": "count",
        "nodes": "count",
        "bytes": "count",
    },
    "step": {
        "model": "name",
        "layers": "count",
        "gc_layers": "count_or_0",
        "sp": "count",
        "dp": "count",
        "zero": "count_or_0",
        "packs": "packs",
    },
}

# Values of keys that a case need not give, and that its text leaves out.
STANDARD = {"dtype": "bf16"}

_INTEGER = re.compile(r"0|[1-9][0-9]*")


def _canonical(kind: str | tuple[str, ...], text: str) -> str:
    """The value as cases spell it. Raises ValueError with what was expected."""
    if isinstance(kind, tuple):
        if text not in kind:
            raise ValueError("expected one of " + ", ".join(kind))
    elif kind in ("count", "count_or_0"):
        low = 1 if kind == "count" else 0
        if not _INTEGER.fullmatch(text) or not low <= int(text) < 2**63:
            raise ValueError(f"expected an integer of at least {low}")
    elif kind == "number":
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 1):
            raise ValueError("expected a number of at least 1")
    elif kind == "name":
        if not text:
            raise ValueError("expected a name")
    elif kind == "documents":
        try:
            return Documents.parse(text).text
        except ValueError as error:
            raise ValueError("expected documents like 8x512+1x4096") from error
    else:
        try:
            return "/".join(Documents.parse(pack).text for pack in text.split("/"))
        except ValueError as error:
            raise ValueError("expected packs like 8x512+1x4096/4x2048") from error
    return text


@dataclass(frozen=True)
class KernelCase:
    """One kernel at one size. Its text is its identity in plans, measurement files and profiles."""

    kernel: str
    values: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> KernelCase:
        """Keys in any order. Raises ValueError that names every mistake."""
        words = text.split(" ")
        words = [word for word in words if word]
        kernel = words[0] if words else ""
        if kernel not in KERNEL_KINDS:
            raise ValueError(f'expected a kernel, one of {", ".join(KERNEL_KINDS)}, got "{kernel}"')
        keys = KERNEL_KINDS[kernel]
        given: dict[str, str] = {}
        mistakes: list[str] = []
        for word in words[1:]:
            key, equals, value = word.partition("=")
            if not equals:
                mistakes.append(f'expected key=value, got "{word}"')
            elif key not in keys:
                mistakes.append(f"expected no such key, got {word}")
            elif key in given:
                mistakes.append(f"expected {key} once, got it twice")
            else:
                given[key] = value
                try:
                    given[key] = _canonical(keys[key], value)
                except ValueError as expected:
                    mistakes.append(f'{key}: {expected}, got "{value}"')
        given = {key: value for key, value in STANDARD.items() if key in keys} | given
        mistakes += [f"expected a value of {key}, got none" for key in keys if key not in given]
        if mistakes:
            raise ValueError(f"kernel {kernel}: " + "; ".join(mistakes))
        return KernelCase(kernel, tuple(given[key] for key in keys))

    @property
    def text(self) -> str:
        given = zip(KERNEL_KINDS[self.kernel], self.values)
        shown = (f"{key}={value}" for key, value in given if STANDARD.get(key) != value)
        return " ".join([self.kernel, *shown])

    def value(self, key: str) -> str:
        return self.values[list(KERNEL_KINDS[self.kernel]).index(key)]

    def integer(self, key: str) -> int:
        return int(self.value(key))

    def packs(self) -> list[Documents]:
        return [Documents.parse(pack) for pack in self.value("packs").split("/")]
