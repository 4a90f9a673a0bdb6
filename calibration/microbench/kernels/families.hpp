#pragma once

#include <span>
#include <string>

#include "calibration/microbench/core/family.hpp"
#include "calibration/microbench/core/measurement_file.hpp"
#include "calibration/microbench/core/runner.hpp"
#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/nvml.hpp"

namespace packsim::microbench {

/// Every family of kernels that this program measures: a row each.
std::span<const Family> families();
/// Throws Unavailable where no family measures such a kernel.
const Family& family_of(const KernelCase& kernel);

/// The GPUs of this process, as the runner sees them.
class GpuMachine : public Machine {
 public:
  GpuMachine(Device& device, const Nvml& nvml) : device_(&device), nvml_(&nvml) {}
  bool is_for_all_ranks(const KernelCase& kernel) const override;
  Prepared prepare(const KernelCase& kernel) override;
  std::optional<Health> health() override { return nvml_->health(); }

 private:
  Device* device_;
  const Nvml* nvml_;
};

/// Returns the id that cudaDeviceGetPCIBusId gives.
std::string pci_bus_id(const Device& device);
/// What is written down of the machine: GPU, driver, libraries, clocks, links, number of processes, the date.
SourceLine describe_machine(Device& device, const Nvml& nvml, const std::string& command);

}  // namespace packsim::microbench
