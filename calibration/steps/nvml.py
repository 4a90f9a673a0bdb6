"""The driver's view of one NVIDIA GPU, through its NVML library: no package and no process is needed."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"
_SUCCESS = 0
_CLOCK_SM = 1
_TEMPERATURE_GPU = 0
# Field of nvml.h: milliwatts of this moment. nvmlDeviceGetPowerUsage is the mean of a second on most GPUs,
# which belongs to the cases before.
_FIELD_POWER_INSTANT = 186
# Renamed in newer drivers, which keep the old name.
_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")


class NvmlError(Exception):
    """The library is missing, or it refuses."""


class _Value(ctypes.Union):
    _fields_ = [
        ("double", ctypes.c_double),
        ("unsigned_int", ctypes.c_uint),
        ("unsigned_long_long", ctypes.c_ulonglong),
    ]


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t"""

    _fields_ = [
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency_us", ctypes.c_longlong),
        ("value_type", ctypes.c_int),
        ("status", ctypes.c_int),
        ("value", _Value),
    ]


@dataclass(frozen=True)
class Reading:
    sm_clock_mhz: int
    power_w: float
    temperature_c: int
    reasons: int  # why the clocks are not higher, nvmlClocksEventReason* in bits


class NvmlGpu:
    """Raises NvmlError where the library or the GPU is not to be had."""

    def __init__(self, uuid: str, library: Any = None) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY) if library is None else library
            self._call("nvmlInit_v2")
            self._handle = ctypes.c_void_p()
            self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self._handle))
            self._has_instant_power = True
            self.read()
        except (OSError, AttributeError) as error:
            raise NvmlError(str(error)) from error

    def driver(self) -> str:
        version = ctypes.create_string_buffer(96)
        self._call("nvmlSystemGetDriverVersion", version, ctypes.c_uint(len(version)))
        return version.value.decode()

    def read(self) -> Reading:
        """Returns the reading of this moment; takes microseconds."""
        return Reading(
            sm_clock_mhz=self._number("nvmlDeviceGetClockInfo", _CLOCK_SM),
            power_w=self._power_w(),
            temperature_c=self._number("nvmlDeviceGetTemperature", _TEMPERATURE_GPU),
            reasons=self._reasons(),
        )

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != _SUCCESS:
            raise NvmlError(f"{name}: expected {_SUCCESS}, got {status}")

    def _number(self, name: str, which: int) -> int:
        value = ctypes.c_uint()
        self._call(name, self._handle, ctypes.c_int(which), ctypes.byref(value))
        return value.value

    def _power_w(self) -> float:
        if self._has_instant_power:
            field = FieldValue(field=_FIELD_POWER_INSTANT)
            try:
                self._call("nvmlDeviceGetFieldValues", self._handle, ctypes.c_int(1), ctypes.byref(field))
                if field.status == _SUCCESS:
                    return float(field.value.unsigned_int) / 1000
            except (NvmlError, AttributeError):
                pass
            self._has_instant_power = False  # an older GPU or driver
        value = ctypes.c_uint()
        self._call("nvmlDeviceGetPowerUsage", self._handle, ctypes.byref(value))
        return value.value / 1000

    def _reasons(self) -> int:
        value = ctypes.c_ulonglong()
        for name in _REASONS:
            if hasattr(self._library, name):
                self._call(name, self._handle, ctypes.byref(value))
                break
        return value.value
