#include "models/memory/states.hpp"
#include "scenarios/loader/json/either_key.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

constexpr double kMost_bytes = 1e18;
// bf16 weights, and AdamW's fp32 weights and two moments.
constexpr double kWeightBytes = 2;
constexpr double kBytesPerParameter = kWeightBytes + 3 * 4;

// What the run saves: of a model with adapters these alone.
double checkpoint_bytes(JsonReader& reader, const PlanContext& context) {
  constexpr double kMostPerParameter = 1000;
  if (!is_first_key(reader, "bytes_per_parameter", "size_bytes"))
    return reader.number("size_bytes", 1, kMost_bytes);
  const double each = reader.number_or("bytes_per_parameter", 1, kMostPerParameter, kBytesPerParameter);
  if (context.model == nullptr) return 0;
  const ParallelPlan one_gpu{.lora_rank = context.plan.lora_rank, .lora_targets = context.plan.lora_targets};
  return each * trained_elements(*context.model, one_gpu, 0);
}

}  // namespace

CheckpointWrite read_checkpoint_write(JsonReader& reader, const PlanContext& context) {
  constexpr double kLeast_s = 0.001;
  CheckpointWrite write{.blocking_fraction = reader.number_or("blocking_fraction", 0, 1, 1)};
  if (is_first_key(reader, "write_s", "bandwidth_bytes_per_s")) {
    write.write_s = reader.number("write_s", kLeast_s, kMostSeconds, "bandwidth_bytes_per_s");
    for (const char* key : {"size_bytes", "bytes_per_parameter"}) refuse_beside(reader, "write_s", key);
    return write;
  }
  const double bandwidth_bytes_per_s = reader.number("bandwidth_bytes_per_s", 1, kMost_bytes);
  write.write_s = checkpoint_write_s(checkpoint_bytes(reader, context), bandwidth_bytes_per_s);
  // Adapters come on top of weights that the run did not save.
  double frozen_bytes = 0;
  if (context.model != nullptr && context.plan.lora_rank > 0)
    frozen_bytes = kWeightBytes * context.model->parameters();
  write.load_s = write.write_s + frozen_bytes / bandwidth_bytes_per_s;
  return write;
}

}  // namespace packsim
