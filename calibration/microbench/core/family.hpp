#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "models/kernels/kernel_case.hpp"

namespace packsim::microbench {

class Device;  // kernels/device.hpp: the GPUs of this process

/// A kernel that is ready to be timed. It owns its buffers; the next case is prepared after it is gone.
struct Prepared {
  std::string library;  ///< what runs: cublaslt, cudnn, nccl, cuda, packsim
  /// One sample: seconds of one call of the kernel, on the slowest GPU of this process.
  std::function<double()> time_once_s;
  /// Worth recording with the case: the algorithm, the calls in a sample (calls_per_sample, by which the
  /// runner also knows how long the GPU works on one; 1 where it is not there).
  std::map<std::string, std::string> details = {};
};

/// The case cannot be measured here: its text becomes the reason of a skipped line.
struct Unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One family of kernels: a row of the table in kernels/families.cpp.
struct Family {
  std::string_view kernel;  ///< as in a plan's line
  /// Throws Unavailable where the machine cannot run the case, std::runtime_error where the GPU failed.
  Prepared (*prepare)(const KernelCase&, Device&);
  /// Every process takes part, and a sample is the time of the slowest; otherwise rank 0 measures alone.
  bool all_ranks = false;
  /// What it measures with, for --list: the library with its version, or why it is absent. The device is
  /// nullptr where there is none.
  std::string (*standing)(const Device*) = nullptr;
};

}  // namespace packsim::microbench
