#pragma once

#include "models/kernels/kernel_case.hpp"

namespace packsim {

/// Seconds that a kernel takes on some GPU of the H100's kind, to a factor of two or so: 300 TFLOP/s, 1.5
/// TB/s, 300 GB/s in collectives, 100 GB/s in all-to-alls of a node and 20 GB/s beyond it, 5 us a kernel. It
/// says how long measuring takes, and how much a kernel matters that nobody has measured. It is never used
/// for a prediction. It is 0 for a whole step.
double rough_kernel_s(const KernelCase& kernel);

/// Seconds that measuring it takes: setting up (0.05 s, attention 0.5 s), warming up (0.2 to 1 s), and
/// samples (0.15 s or more).
double rough_measuring_s(const KernelCase& kernel);

/// Bytes of GPU memory that its operands take, at most.
double rough_memory_bytes(const KernelCase& kernel);

}  // namespace packsim
