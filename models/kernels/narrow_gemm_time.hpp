#pragma once

#include "models/gpu.hpp"
#include "models/kernels/hardware_profile.hpp"

namespace packsim {

class GemmShapes;

/// The time of a matrix product in fp8 or fp4 that nobody has measured: that of the same product in bf16 by
/// the profile, times what the profile's model of products gives with the format's rates over what it gives.
/// With these, flop take (peak of bf16 / peak of the format)^exponent of the time, operands have the format's
/// bytes and results 2, and with fp8_block each result takes more, as it is scaled again along k. Exponents
/// and factor are fitted to the public products in fp8 of H200 and H800 in calibration/data; the error is
/// what these are off by, and a guess for mxfp8 and nvfp4, of which no products are public.
///
/// kernel: a gemm of a dtype narrower than bf16. gpu: of the profile; one that states no peak of the format
/// counts as faster by how much narrower its values are. Evidence::missing if the profile has no model of
/// products or nothing of this one.
KernelTime narrow_gemm_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                            GemmShapes& shapes);

/// What the profile knows of a kernel: kernel_time(), or of a narrow product that it lacks
/// narrow_gemm_time().
KernelTime known_kernel_time(const HardwareProfile& profile, const Gpu& gpu, const KernelCase& kernel,
                             GemmShapes& shapes);

}  // namespace packsim
