#pragma once

#include "models/gpu.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

class GemmShapes;

/// The time of a matrix product in fp8 that nobody has measured: that of the same product in bf16 by the
/// profile, times what the profile's model of products gives with fp8 rates over what it gives. With these,
/// flop take (peak of bf16 / peak of fp8)^exponent of the time, operands have 1 byte a value and results 2,
/// and with scales of blocks each result takes more, as it is scaled again along k. Exponents and factor are
/// fitted to the public products of H200 and H800 in calibration/data; the error is what these are off by.
///
/// kernel: a gemm of dtype fp8 or fp8_block. gpu: of the profile; one that states no peak of fp8 counts as
/// twice as fast. Evidence::missing if the profile has no model of products or nothing of this one.
KernelTime fp8_gemm_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                         GemmShapes& shapes);

/// What the profile knows of a kernel: kernel_time(), or of a product in fp8 that it lacks fp8_gemm_time().
KernelTime known_kernel_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                             GemmShapes& shapes);

}  // namespace packsim
