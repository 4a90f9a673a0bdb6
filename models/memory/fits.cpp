#include <algorithm>
#include <array>

#include "models/memory/peak_memory.hpp"
#include "models/pipeline_chunks.hpp"

namespace packsim {
namespace {

// Of a peak whose reserved memory was fitted to plans that did and did not fit, in steps of 0.1 GiB: half a
// step of 80 GiB.
constexpr double kFittedError = 0.0006;

bool fits_on_host(const Cluster& cluster, const MemoryPeak& peak) {
  return !cluster.host_memory_bytes || peak.host_bytes <= *cluster.host_memory_bytes;
}

}  // namespace

MemoryAssumptions memory_assumptions(const FrameworkFactors& factors) {
  const auto stated = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
  return {.reserved_bytes = stated(factors.reserved_bytes),
          .logits_bytes_per_vocab_entry = stated(factors.logits_bytes_per_vocab_entry)};
}

std::string_view verdict_name(MemoryVerdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"fits", "may not fit", "does not fit"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

double memory_error(const ParallelPlan& plan, const MemoryAssumptions& assumptions) {
  return assumptions.reserved_bytes ? kFittedError : plan.execution.kernels->memory_error;
}

double memory_margin(const ParallelPlan& plan, const MemoryAssumptions& assumptions) {
  return plan.memory_margin != 0 ? plan.memory_margin : memory_error(plan, assumptions);
}

double least_memory_margin(const ParallelPlan& plan, const MemoryAssumptions& assumptions) {
  return 1 - 1 / (1 - memory_error(plan, assumptions));
}

MemoryVerdict memory_verdict(const Cluster& cluster, const MemoryPeak& peak, double error) {
  const auto room = static_cast<double>(cluster.gpu.memory_bytes);
  if (!fits_on_host(cluster, peak) || peak.total_bytes() * (1 - error) > room)
    return MemoryVerdict::does_not_fit;
  return peak.total_bytes() > room * (1 - error) ? MemoryVerdict::may_not_fit : MemoryVerdict::fits;
}

bool fits(const Cluster& cluster, const MemoryPeak& peak, double margin) {
  return fits_on_host(cluster, peak) &&
         peak.total_bytes() <= (1 - margin) * static_cast<double>(cluster.gpu.memory_bytes);
}

std::optional<int> fewest_gc_layers(PlanMemory& memory, double tokens_per_gpu, int n_micro_batches,
                                    double margin) {
  // Chunks of a pipeline checkpoint alike, so several numbers of layers are one plan.
  const int n_layers = memory.model().n_layers;
  for (int gc_layers = 0; gc_layers <= n_layers;) {
    memory.set_gc_layers(gc_layers);
    if (fits(memory.cluster(), memory.peak(tokens_per_gpu, n_micro_batches), margin)) return gc_layers;
    gc_layers = std::max(gc_layers, checkpointed_layers(memory.model(), memory.plan())) + 1;
  }
  memory.set_gc_layers(n_layers);
  return std::nullopt;
}

std::optional<int> fewest_gc_layers(const Transformer& model, const Cluster& cluster,
                                    const ParallelPlan& plan, const MemoryAssumptions& assumptions,
                                    double tokens_per_gpu, int n_micro_batches, double margin) {
  ParallelPlan tried = plan;
  tried.gc_layers = 0;
  PlanMemory memory(model, cluster, tried, assumptions);
  return fewest_gc_layers(memory, tokens_per_gpu, n_micro_batches, margin);
}

}  // namespace packsim
