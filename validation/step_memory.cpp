#include <algorithm>

#include "models/memory/peak_memory.hpp"
#include "models/parallel_plan.hpp"
#include "validation/step_stacks.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// This is the project's target.
constexpr double kMostRefused = 0.03;
constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

// The peak of a step that ran, against the memory of its GPU.
ValidationRow memory_of(const PublishedStep& step) {
  ValidationRow row{.name = step.id,
                    .published = static_cast<double>(step.cluster.gpu.memory_bytes) / kGibibyte,
                    .unit = "GiB",
                    .error_is_difference = true};
  if (!plan_mistakes(step.model, step.cluster, step.plan).empty()) {
    row.predicted = row.error;  // NaN
    row.outcome = Outcome::refused;
    return row;
  }
  std::int64_t most_tokens = 0;
  int n_micro_batches = 0;
  for (const PublishedMicroBatches& batches : step.micro_batches) {
    most_tokens = std::max(most_tokens, batches.documents.tokens());
    n_micro_batches += batches.n_micro_batches;
  }
  const MemoryPeak peak =
      peak_memory(step.model, step.cluster, step.plan, {},
                  static_cast<double>(most_tokens) / step.plan.sequence_gpus(), n_micro_batches);
  const MemoryVerdict verdict = memory_verdict(step.cluster, peak, memory_error(step.plan, {}));
  row.predicted = peak.total_bytes() / kGibibyte;
  row.error = row.predicted - row.published;
  row.outcome = verdict == MemoryVerdict::does_not_fit ? Outcome::missed : Outcome::met;
  row.beside = verdict_name(verdict);
  return row;
}

}  // namespace

ValidationSet validate_step_memory(const DataPaths& data) {
  ValidationSet set{.name = "steps-memory",
                    .title = "Memory of published steps, all of which ran",
                    .about =
                        "The predicted peak beside the memory of the GPU, by the kernels and the loss of the "
                        "step's stack. A step that does not fit is missed."};
  for (const PublishedStep& step : load_all_steps(data)) set.rows.push_back(memory_of(step));
  const auto n_of = [&](Outcome outcome) {
    return static_cast<double>(std::ranges::count(set.rows, outcome, &ValidationRow::outcome));
  };
  const double n_missed = n_of(Outcome::missed);
  set.bounds = {
      {"share of steps that ran but do not fit", n_missed / (n_missed + n_of(Outcome::met)), kMostRefused}};
  return set;
}

}  // namespace packsim
