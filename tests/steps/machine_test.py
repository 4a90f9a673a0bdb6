"""What a GPU says of itself: NVML's answers, and which of them make a case throttled."""

from __future__ import annotations

import ctypes
import unittest
from typing import Any

import reference_run as reference

from calibration.steps.machine import GpuWatch
from calibration.steps.nvml import FieldValue, NvmlError, NvmlGpu, Reading

_POWER_CAP, _HARDWARE_THERMAL = 0x4, 0x40


class _Library:
    """libnvidia-ml of one GPU, with the arguments of nvml.h."""

    def __init__(self, has_instant_power: bool = True) -> None:
        self._has_instant_power = has_instant_power

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        return 0 if uuid == b"GPU-1" else 6

    def nvmlSystemGetDriverVersion(self, text: Any, size: ctypes.c_uint) -> int:
        text.value = b"580.1"
        return 0

    def nvmlDeviceGetClockInfo(self, handle: Any, kind: ctypes.c_int, value: Any) -> int:
        value._obj.value = {0: 1, 1: 1700, 2: 2}[kind.value]
        return 0

    def nvmlDeviceGetTemperature(self, handle: Any, kind: ctypes.c_int, value: Any) -> int:
        value._obj.value = 61
        return 0

    def nvmlDeviceGetPowerUsage(self, handle: Any, value: Any) -> int:
        value._obj.value = 400_000
        return 0

    def nvmlDeviceGetFieldValues(self, handle: Any, n: ctypes.c_int, field: Any) -> int:
        assert (n.value, field._obj.field) == (1, 186)
        field._obj.status = 0 if self._has_instant_power else 3
        field._obj.value.unsigned_int = 690_500
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, value: Any) -> int:
        value._obj.value = _POWER_CAP
        return 0


class _Gpu:
    def __init__(self, *readings: Reading) -> None:
        self._readings = list(readings)

    def driver(self) -> str:
        return "580.1"

    def read(self) -> Reading:
        return self._readings.pop(0)


def _watch(*readings: Reading) -> GpuWatch:
    watch = GpuWatch(reference.CPU, _Gpu(*readings))
    for _ in readings:
        watch._next_s = 0.0
        watch.read()
    return watch


class NvmlTest(unittest.TestCase):
    def test_the_power_is_that_of_the_moment_where_the_gpu_tells_it(self) -> None:
        gpu = NvmlGpu("GPU-1", _Library())
        self.assertEqual(gpu.read(), Reading(1700, 690.5, 61, _POWER_CAP))
        self.assertEqual(gpu.driver(), "580.1")
        self.assertEqual(NvmlGpu("GPU-1", _Library(has_instant_power=False)).read().power_w, 400)

    def test_the_struct_is_laid_out_as_in_nvml_h(self) -> None:
        # Two unsigned, two long long, two enums, and a union of 8 bytes.
        self.assertEqual(ctypes.sizeof(FieldValue), 4 + 4 + 8 + 8 + 4 + 4 + 8)
        self.assertEqual(FieldValue.value.offset, 32)

    def test_a_gpu_that_is_not_there_is_an_error(self) -> None:
        with self.assertRaises(NvmlError):
            NvmlGpu("GPU-2", _Library())


class GpuWatchTest(unittest.TestCase):
    def test_a_steady_clock_at_the_power_limit_is_not_throttled(self) -> None:
        watch = _watch(Reading(1980, 300, 40, 0))
        self.assertEqual(watch.flags(), [])
        # The next case, a large product, runs 29 % slower all along.
        watch.reset()
        watch._gpu = _Gpu(Reading(1400, 700, 60, _POWER_CAP), Reading(1410, 690, 61, _POWER_CAP))
        for _ in range(2):
            watch._next_s = 0.0
            watch.read()
        self.assertEqual(watch.flags(), [])
        details = {"sm_clock_mhz": [1400, 1410], "power_w": 700, "temperature_c": 61}
        self.assertEqual(watch.details(), details | {"throttle_reasons": ["power_cap"]})

    def test_a_clock_that_moves_at_the_power_limit_is_not_throttled(self) -> None:
        readings = (Reading(1780, 700, 60, _POWER_CAP), Reading(1500, 700, 60, _POWER_CAP))
        self.assertEqual(_watch(*readings).flags(), [])

    def test_heat_is_trouble(self) -> None:
        self.assertEqual(_watch(Reading(1700, 700, 90, _HARDWARE_THERMAL)).flags(), ["throttled"])

    def test_readings_are_taken_now_and_then(self) -> None:
        watch = GpuWatch(reference.CPU, _Gpu(Reading(1700, 1, 1, 0)))
        for _ in range(3):  # microseconds apart: one reading, where the second would fail
            watch.read()
        self.assertEqual(watch.details()["sm_clock_mhz"], [1700, 1700])


if __name__ == "__main__":
    unittest.main()
