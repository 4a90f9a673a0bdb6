#include "calibration/microbench/kernels/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>

namespace packsim::microbench {
namespace {

// The few declarations that are needed, as in NVIDIA's documented and stable interface; the header is not
// part of every toolkit.
using Result = int;
using DeviceHandle = void*;
constexpr Result kSuccess = 0;
constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kGpuTemperature = 0;
constexpr unsigned kMostLinks = 18;

struct PciInfo {
  char short_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

// nvmlFieldValue_t, which is asked for one value by its number.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  int value_type;
  Result result;
  std::uint64_t value;
};
constexpr unsigned kInstantPower = 186;

struct Reason {
  std::uint64_t bit;
  const char* name;
};
constexpr Reason kReasons[] = {{0x04, "power_cap"}, {0x08, "hardware"}, {0x10, "sync_boost"},
                               {0x20, "heat"},      {0x40, "heat"},     {0x80, "power_brake"}};

template <typename Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// The value that a function of NVML writes for the device, where there is the function and it answers.
template <typename Value, typename... Extra>
std::optional<Value> ask(void* library, void* device, const char* name, Extra... extra) {
  const auto function = symbol<Result(DeviceHandle, Extra..., Value*)>(library, name);
  Value value{};
  if (function == nullptr || function(device, extra..., &value) != kSuccess) return std::nullopt;
  return value;
}

// The power of this moment where the GPU tells it. Its usual reading is the mean of a second, to which earlier
// cases belong.
double power_w(void* library, void* device) {
  const auto fields = symbol<Result(DeviceHandle, int, FieldValue*)>(library, "nvmlDeviceGetFieldValues");
  FieldValue power{};
  power.field = kInstantPower;
  if (fields != nullptr && fields(device, 1, &power) == kSuccess && power.result == kSuccess)
    return static_cast<double>(static_cast<unsigned>(power.value)) / 1000.0;
  return ask<unsigned>(library, device, "nvmlDeviceGetPowerUsage").value_or(0) / 1000.0;
}

std::string nvlink_text(void* library, void* device) {
  std::map<std::string, int> n_links;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    if (ask<unsigned>(library, device, "nvmlDeviceGetNvLinkState", link).value_or(0) != 1) continue;
    const auto peer = ask<PciInfo>(library, device, "nvmlDeviceGetNvLinkRemotePciInfo_v2", link);
    ++n_links[peer ? std::string(peer->bus_id) : "unknown"];
  }
  std::string text;
  for (const auto& [peer, n] : n_links)
    text += (text.empty() ? "" : ", ") + std::to_string(n) + " to " + peer;
  return text.empty() ? "none" : text;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return;
  const auto init = symbol<Result()>(library_, "nvmlInit_v2");
  const auto find = symbol<Result(const char*, DeviceHandle*)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || find == nullptr || init() != kSuccess) {
    dlclose(library_);
    library_ = nullptr;
    return;
  }
  if (find(pci_bus_id.c_str(), &device_) != kSuccess) device_ = nullptr;
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (const auto shutdown = symbol<Result()>(library_, "nvmlShutdown")) shutdown();
  dlclose(library_);
}

std::optional<Health> Nvml::health() const {
  if (device_ == nullptr) return std::nullopt;
  const auto clock_mhz = ask<unsigned>(library_, device_, "nvmlDeviceGetClockInfo", kSmClock);
  if (!clock_mhz) return std::nullopt;
  Health health;
  health.sm_clock_mhz = *clock_mhz;
  health.power_w = power_w(library_, device_);
  health.temperature_c =
      ask<unsigned>(library_, device_, "nvmlDeviceGetTemperature", kGpuTemperature).value_or(0);
  auto reasons = ask<unsigned long long>(library_, device_, "nvmlDeviceGetCurrentClocksEventReasons");
  if (!reasons)  // its name before driver 535
    reasons = ask<unsigned long long>(library_, device_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  for (const Reason& reason : kReasons) {
    if ((reasons.value_or(0) & reason.bit) != 0) health.slowed_by.emplace_back(reason.name);
  }
  return health;
}

std::map<std::string, std::string> Nvml::details() const {
  std::map<std::string, std::string> details;
  if (library_ == nullptr || device_ == nullptr) {
    details["nvml"] = "absent: clocks, power and throttling are not recorded";
    return details;
  }
  std::array<char, 96> driver{};
  const auto driver_version = symbol<Result(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  if (driver_version != nullptr && driver_version(driver.data(), driver.size()) == kSuccess)
    details["driver"] = driver.data();
  const auto number = [&](const char* name, std::optional<unsigned> value, unsigned unit) {
    if (value) details[name] = std::to_string(*value / unit);
  };
  number("highest_sm_clock_mhz", ask<unsigned>(library_, device_, "nvmlDeviceGetMaxClockInfo", kSmClock), 1);
  number("highest_memory_clock_mhz",
         ask<unsigned>(library_, device_, "nvmlDeviceGetMaxClockInfo", kMemoryClock), 1);
  number("power_limit_w", ask<unsigned>(library_, device_, "nvmlDeviceGetEnforcedPowerLimit"), 1000);
  const auto two_modes = [&](const char* function) -> std::string {
    const auto mode = symbol<Result(DeviceHandle, unsigned*, unsigned*)>(library_, function);
    unsigned current = 0;
    unsigned pending = 0;
    if (mode == nullptr || mode(device_, &current, &pending) != kSuccess) return "not supported";
    return current != 0 ? "on" : "off";
  };
  details["ecc"] = two_modes("nvmlDeviceGetEccMode");
  details["mig"] = two_modes("nvmlDeviceGetMigMode");
  details["nvlink"] = nvlink_text(library_, device_);
  return details;
}

}  // namespace packsim::microbench
