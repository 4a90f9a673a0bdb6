#pragma once

#include <map>
#include <optional>
#include <string>

#include "calibration/microbench/core/health.hpp"

namespace packsim::microbench {

/// What NVIDIA's management library says of one GPU. The library comes with the driver and is loaded here;
/// without it everything is empty.
class Nvml {
 public:
  /// pci_bus_id: as cudaDeviceGetPCIBusId gives it.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<Health> health() const;
  /// driver, clocks, power limit, ECC, MIG and NVLink, as texts for the record.
  std::map<std::string, std::string> details() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace packsim::microbench
