#include "models/kernels/rough_time.hpp"

#include <algorithm>

#include "models/kernels/collectives.hpp"
#include "models/kernels/kernel_times.hpp"
#include "models/value_bytes.hpp"

namespace packsim {
namespace {

constexpr double kFlopPerS = 300e12;
constexpr double kMemoryBytesPerS = 1.5e12;
constexpr double kRoughHostBytesPerS = 25e9;
constexpr double kLinkBytesPerS = 300e9;      // rings, on NVLink or over all network cards of a node
constexpr double kExchangeBytesPerS = 100e9;  // all-to-all in a node
constexpr double kNetworkBytesPerS = 20e9;    // all-to-all beyond it: a network card a GPU
constexpr double kRoughLaunchS = 5e-6;
constexpr double kCollectiveS = 30e-6;

double collective_s(const KernelCase& kernel) {
  const CollectiveKind& kind = collective_kind(kernel.value("op"));
  const bool is_in_node = kernel.integer("nodes") == 1;
  const double bytes_per_s = kind.algorithm.passes_on ? kLinkBytesPerS
                             : is_in_node             ? kExchangeBytesPerS
                                                      : kNetworkBytesPerS;
  const double latency_s = ring_latency_s(kind.name, kernel.number("gpus"), kernel.number("nodes"));
  return kCollectiveS + latency_s + kind.passes * kernel.number("bytes") / bytes_per_s;
}

// Queries, outputs and their gradients; keys and values and theirs.
double attention_bytes(const KernelCase& kernel) {
  const double heads = 2 * static_cast<double>(kernel.integer("heads") + kernel.integer("kv_heads"));
  const double passes = kernel.value("pass") == "bwd" ? 2 : 1;
  return passes * kBf16Bytes * heads * kernel.number("head_dim") *
         static_cast<double>(kernel.documents("docs").tokens());
}

}  // namespace

double rough_kernel_s(const KernelCase& kernel) {
  const std::string_view kind = kernel.kernel();
  if (kind == "step") return 0;
  if (kind == "collective") return kernel.number("imbalance") * collective_s(kernel);
  if (kind == "overlap") {
    return kRoughLaunchS + 2.0 * kernel.number("m") * kernel.number("n") * kernel.number("k") / kFlopPerS;
  }
  if (kind == "copy" && kernel.value("kind") != "device")
    return kRoughLaunchS + kernel_bytes(kernel) / kRoughHostBytesPerS;
  const double bytes = kind == "attention" ? attention_bytes(kernel) : kernel_bytes(kernel);
  return kRoughLaunchS + std::max(kernel_flop(kernel) / kFlopPerS, bytes / kMemoryBytesPerS);
}

double rough_measuring_s(const KernelCase& kernel) {
  // packsim_microbench measures so (calibration/microbench/core/stopping_rule.hpp). cuDNN builds a plan for
  // the documents of every case; the others allocate and fill their operands with random numbers.
  const double prepare_s = kernel.kernel() == "attention" ? 0.5 : 0.05;
  constexpr double kLeastWarmupS = 0.2;
  constexpr double kMostWarmupS = 1;
  constexpr double kWarmupCalls = 6;
  constexpr double kLeastSamplesS = 0.15;
  constexpr double kMostSamplesS = 8;  // what takes long is given up with fewer samples
  constexpr double kLongCallS = 0.02;
  const double call_s = rough_kernel_s(kernel);
  const double n_samples = call_s >= kLongCallS ? 5 : 10;
  return prepare_s + std::clamp(kWarmupCalls * call_s, kLeastWarmupS, kMostWarmupS) +
         std::clamp(n_samples * call_s, kLeastSamplesS, kMostSamplesS);
}

double rough_memory_bytes(const KernelCase& kernel) {
  const std::string_view kind = kernel.kernel();
  if (kind == "attention") return attention_bytes(kernel);
  // Sent from and received into; an all-gather and a reduce-scatter have one large side.
  if (kind == "collective") return 2 * kernel_bytes(kernel);
  if (kind == "adamw") return 16.0 * kernel.number("parameters");
  return kernel_bytes(kernel);
}

}  // namespace packsim
