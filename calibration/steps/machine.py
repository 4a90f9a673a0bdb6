"""What the machine is, and the state of its GPU while it measures."""

from __future__ import annotations

import os
import platform
import time
from typing import Any

import torch

from .nvml import NvmlError, NvmlGpu, Reading

# NVML's reasons to lower the clocks that mean trouble: hardware slowdown, software and hardware thermal
# slowdown, external power brake. A power cap (0x4) is normal under matrix products and only recorded.
_TROUBLE = 0x8 | 0x20 | 0x40 | 0x80
_REASONS = {
    0x4: "power_cap",
    0x8: "hardware",
    0x20: "software_thermal",
    0x40: "hardware_thermal",
    0x80: "brake",
}
# Readings take time in which the GPU idles.
_READ_EVERY_S = 0.02


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def device_name(device: torch.device) -> str:
    """Names the GPU as measurement files do; a CPU counts as one."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"CPU {_cpu_name()}, {torch.get_num_threads()} threads"


def cache_bytes(device: torch.device) -> int:
    """The largest cache between the cores and memory; what must be exceeded to measure cold."""
    if device.type == "cuda":
        return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 64 << 20))
    sizes = [32 << 20]
    folder = "/sys/devices/system/cpu/cpu0/cache"
    for index in os.listdir(folder) if os.path.isdir(folder) else []:
        try:
            with open(f"{folder}/{index}/size", encoding="utf-8") as text:
                sizes.append(int(text.read().strip().rstrip("K")) << 10)
        except (OSError, ValueError):
            continue
    return max(sizes)


def library_versions(device: torch.device) -> dict[str, str]:
    versions = {"torch": torch.__version__, "python": platform.python_version(), "host": platform.platform()}
    if device.type == "cuda":
        versions["cuda"] = str(torch.version.cuda or "")
        versions["hip"] = str(torch.version.hip or "")
        versions["cudnn"] = str(torch.backends.cudnn.version() or "")  # type: ignore[no-untyped-call]
        if torch.version.cuda and torch.distributed.is_nccl_available():
            versions["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))  # type: ignore[no-untyped-call]
    return {key: value for key, value in versions.items() if value}


def _nvml_gpu(device: torch.device) -> NvmlGpu | None:
    if device.type != "cuda" or torch.version.hip:
        return None
    try:
        return NvmlGpu(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
    except (NvmlError, AttributeError):  # no library, no right, or a PyTorch that does not tell the UUID
        return None


class GpuWatch:
    """Clock, power, temperature and throttle reasons of one GPU during a case; nothing where NVML is not.

    gpu: for tests, what is read instead of the device's.
    """

    def __init__(self, device: torch.device, gpu: Any = None) -> None:
        self._gpu = _nvml_gpu(device) if gpu is None else gpu
        self.driver = self._gpu.driver() if self._gpu else ""
        self.reset()

    def reset(self) -> None:
        """Forgets earlier readings, before the samples of a case."""
        self._readings: list[Reading] = []
        self._next_s = 0.0

    def read(self) -> None:
        """Call it after every sample, when the GPU has just worked; it takes a reading now and then."""
        if self._gpu is None or time.monotonic() < self._next_s:
            return
        try:
            self._readings.append(self._gpu.read())
        except NvmlError:
            self._gpu = None
        self._next_s = time.monotonic() + _READ_EVERY_S

    def details(self) -> dict[str, Any]:
        """Summarises the readings since reset(); empty if there are none."""
        if not self._readings:
            return {}
        clocks_mhz = [reading.sm_clock_mhz for reading in self._readings]
        details: dict[str, Any] = {
            "sm_clock_mhz": [min(clocks_mhz), max(clocks_mhz)],
            "power_w": max(reading.power_w for reading in self._readings),
            "temperature_c": max(reading.temperature_c for reading in self._readings),
        }
        reasons = [name for bit, name in _REASONS.items() if self._reason_bits() & bit]
        return details | ({"throttle_reasons": reasons} if reasons else {})

    def flags(self) -> list[str]:
        """throttled: for a reason that means trouble. A clock that moves at the power limit is none: steps
        and large products run so, and times that drift are noisy."""
        return ["throttled"] if self._reason_bits() & _TROUBLE else []

    def _reason_bits(self) -> int:
        bits = 0
        for reading in self._readings:
            bits |= reading.reasons
        return bits
