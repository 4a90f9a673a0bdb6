#include "calibration/microbench/kernels/families.hpp"

#include <array>
#include <ctime>

#include "calibration/microbench/distributed/collectives.hpp"
#include "calibration/microbench/kernels/attention.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/gemm.hpp"
#include "calibration/microbench/kernels/optimizer.hpp"
#include "calibration/microbench/kernels/transfers.hpp"

namespace packsim::microbench {
namespace {

std::string own_kernel(const Device* /*device*/) {
  return "a kernel of this program";
}

std::string cuda_runtime(const Device* /*device*/) {
  return "the CUDA runtime";
}

std::string nccl(const Device* device) {
  if (device != nullptr) return collective_standing(*device);
  return PACKSIM_HAS_NCCL ? "NCCL" : "absent: built without NCCL";
}

const std::array kFamilies = {
    Family{"gemm", prepare_gemm, false, gemm_standing},
    Family{"attention", prepare_attention, false, attention_standing},
    Family{"elementwise", prepare_elementwise, false, own_kernel},
    Family{"copy", prepare_copy, false, cuda_runtime},
    Family{"adamw", prepare_adamw, false, own_kernel},
    Family{"launch_gap", prepare_launch_gap, false, cuda_runtime},
    Family{"collective", prepare_collective, true, nccl},
    Family{"overlap", prepare_overlap, true, nccl},
};

// 13000 is 13.0.
std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

const Family& family_of(const KernelCase& kernel) {
  for (const Family& family : kFamilies) {
    if (family.kernel == kernel.kernel()) return family;
  }
  throw Unavailable("is not measured by packsim_microbench");
}

bool GpuMachine::is_for_all_ranks(const KernelCase& kernel) const {
  for (const Family& family : kFamilies) {
    if (family.kernel == kernel.kernel()) return family.all_ranks;
  }
  return false;
}

Prepared GpuMachine::prepare(const KernelCase& kernel) {
  return family_of(kernel).prepare(kernel, *device_);
}

std::string pci_bus_id(const Device& device) {
  std::array<char, 32> text{};
  check_cuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device.ordinal()),
             "read the PCI bus");
  return text.data();
}

SourceLine describe_machine(Device& device, const Nvml& nvml, const std::string& command) {
  SourceLine line{device.properties().name, command, nvml.details()};
  int driver = 0;
  int runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "read the driver's version");
  check_cuda(cudaRuntimeGetVersion(&runtime), "read the runtime's version");
  const cudaDeviceProp& properties = device.properties();
  line.details["cuda_of_driver"] = cuda_version(driver);
  line.details["cuda_runtime"] = cuda_version(runtime);
  line.details["gemm"] = gemm_standing(&device);
  line.details["attention"] = attention_standing(&device);
  line.details["collective"] = nccl(&device);
  line.details["compute_capability"] =
      std::to_string(properties.major) + "." + std::to_string(properties.minor);
  line.details["multiprocessors"] = std::to_string(properties.multiProcessorCount);
  line.details["l2_bytes"] = std::to_string(properties.l2CacheSize);
  line.details["memory_bytes"] = std::to_string(properties.totalGlobalMem);
  line.details["gpus_of_first_process"] = std::to_string(device.ordinals().size());
  line.details["processes"] = std::to_string(device.coordination().n_ranks());
  line.details["started"] = now_utc();
  return line;
}

}  // namespace packsim::microbench
