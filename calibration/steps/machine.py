"""What the machine is, and the state of its GPU while it measures."""

from __future__ import annotations

import os
import platform
import subprocess
from typing import Any

import torch

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
# Below it, of the run's highest clock, a case counts as throttled: as in packsim_microbench.
_LOWEST_CLOCK_FRACTION = 0.95
_SMI_FIELDS = "clocks.sm,power.draw,temperature.gpu,driver_version"


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
    """As measurement files name the GPU; a CPU counts as one."""
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
        versions["cudnn"] = str(torch.backends.cudnn.version() or "")
        if torch.version.cuda and torch.distributed.is_nccl_available():
            versions["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return {key: value for key, value in versions.items() if value}


class GpuWatch:
    """Clock, power, temperature and throttle reasons of one GPU, through NVML (package nvidia-ml-py), else
    nvidia-smi; nothing where there is neither."""

    def __init__(self, device: torch.device) -> None:
        self._nvml: Any = None
        self._handle: Any = None
        self._smi_id = ""
        self.driver = ""
        self._highest_clock_mhz = 0
        self.reset()
        uuid = (
            str(getattr(torch.cuda.get_device_properties(device), "uuid", ""))
            if device.type == "cuda"
            else ""
        )
        if not uuid or torch.version.hip:
            return
        try:
            import pynvml

            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
            self._nvml = pynvml
            driver = pynvml.nvmlSystemGetDriverVersion()
            self.driver = driver.decode() if isinstance(driver, bytes) else driver
        except Exception:  # The package, the library or the right may be missing.
            self._nvml = None
            self._smi_id = f"GPU-{uuid}"
            self.read()

    def reset(self) -> None:
        """Before a case. The highest clock is that of the whole run."""
        self._sm_clocks_mhz: list[int] = []
        self._powers_w: list[float] = []
        self._temperatures_c: list[int] = []
        self._reasons = 0

    def read(self) -> None:
        """Takes a reading; call it between samples, as it takes from microseconds (NVML) to 50 ms."""
        self._take_reading()
        self._highest_clock_mhz = max([self._highest_clock_mhz, *self._sm_clocks_mhz])

    def _take_reading(self) -> None:
        if self._nvml is not None:
            nvml, handle = self._nvml, self._handle
            try:
                self._sm_clocks_mhz.append(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
                self._powers_w.append(nvml.nvmlDeviceGetPowerUsage(handle) / 1000)
                self._temperatures_c.append(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
                # Renamed in newer versions of the package.
                names = (
                    "nvmlDeviceGetCurrentClocksEventReasons",
                    "nvmlDeviceGetCurrentClocksThrottleReasons",
                )
                read = next((getattr(nvml, name) for name in names if hasattr(nvml, name)), lambda of: 0)
                self._reasons |= int(read(handle))
            except nvml.NVMLError:
                return
        elif self._smi_id:
            self._read_smi()

    def _read_smi(self) -> None:
        command = [
            "nvidia-smi",
            "-i",
            self._smi_id,
            f"--query-gpu={_SMI_FIELDS}",
            "--format=csv,noheader,nounits",
        ]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
            clock_mhz, power_w, temperature_c, self.driver = (word.strip() for word in answer.split(","))
            self._sm_clocks_mhz.append(int(clock_mhz))
            self._powers_w.append(float(power_w))
            self._temperatures_c.append(int(temperature_c))
        except (OSError, ValueError, subprocess.SubprocessError):
            self._smi_id = ""

    def details(self) -> dict[str, Any]:
        """Of the readings since reset(); empty where there are none."""
        if not self._sm_clocks_mhz:
            return {}
        details: dict[str, Any] = {
            "sm_clock_mhz": [min(self._sm_clocks_mhz), max(self._sm_clocks_mhz)],
            "power_w": max(self._powers_w, default=0),
            "temperature_c": max(self._temperatures_c, default=0),
        }
        reasons = [name for bit, name in _REASONS.items() if self._reasons & bit]
        return details | ({"throttle_reasons": reasons} if reasons else {})

    def flags(self) -> list[str]:
        """throttled: for one of the reasons that mean trouble, or because the clock fell."""
        fell = min(self._sm_clocks_mhz, default=0) < _LOWEST_CLOCK_FRACTION * self._highest_clock_mhz
        return ["throttled"] if self._reasons & _TROUBLE or fell else []
