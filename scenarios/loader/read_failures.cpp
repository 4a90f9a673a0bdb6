#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "models/memory/states.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

constexpr double kMost_s = 1e9;
constexpr double kMost_bytes = 1e18;
// bf16 weights, and AdamW's fp32 weights and two moments.
constexpr double kWeightBytes = 2;
constexpr double kBytesPerParameter = kWeightBytes + 3 * 4;

double number_or(JsonReader& reader, std::string_view key, double low, double high, double fallback) {
  return reader.value(key) == nullptr ? fallback : reader.number(key, low, high);
}

// Refuses a key where another one says it all.
void refuse_beside(JsonReader& reader, std::string_view other, std::string_view key) {
  if (reader.value(key) != nullptr) reader.refuse(key, fmt::format("no such key beside {}", other));
}

// Whether to read the first of two keys that say the same in two ways: if it is there, or neither is. Refuses
// both together.
bool is_first(JsonReader& reader, std::string_view first, std::string_view second) {
  if (reader.value(first) == nullptr) return reader.value(second) == nullptr;
  refuse_beside(reader, first, second);
  return true;
}

void read_rate(JsonReader& reader, const PlanContext& context, FailureModel& model) {
  constexpr double kLeast_h = 0.001;
  constexpr double kMost_h = 1e9;
  if (is_first(reader, "mtbf_hours", "published")) {
    model.unit_mtbf_h = reader.number("mtbf_hours", kLeast_h, kMost_h, "published");
    const std::vector<std::string> units = {"gpu", "node"};
    const bool is_node = reader.one_of("unit", units) == 1;
    if (is_node && context.cluster != nullptr) model.unit_gpus = context.cluster->gpus_per_node;
    return;
  }
  const PublishedMtbf& published = kPublishedMtbfs[reader.one_of("published", names_in(kPublishedMtbfs))];
  model.unit_mtbf_h = published.unit_mtbf_h;
  model.unit_gpus = published.unit_gpus;
  refuse_beside(reader, "published", "unit");
}

// What the run saves: of a model with adapters these alone.
double checkpoint_bytes(JsonReader& reader, const PlanContext& context) {
  constexpr double kMostPerParameter = 1000;
  if (!is_first(reader, "bytes_per_parameter", "size_bytes"))
    return reader.number("size_bytes", 1, kMost_bytes);
  const double each = number_or(reader, "bytes_per_parameter", 1, kMostPerParameter, kBytesPerParameter);
  if (context.model == nullptr) return 0;
  const ParallelPlan one_gpu{.lora_rank = context.plan.lora_rank, .lora_targets = context.plan.lora_targets};
  return each * trained_elements(*context.model, one_gpu, 0);
}

// Returns what reading a checkpoint takes, where that follows from its size.
std::optional<double> read_checkpoint(JsonReader reader, const PlanContext& context, FailureModel& model) {
  constexpr double kLeast_s = 0.001;
  if (reader.silent()) return 0.0;
  model.checkpoint_blocking_fraction = number_or(reader, "blocking_fraction", 0, 1, 1);
  if (reader.value("interval_s") != nullptr)
    model.checkpoint_interval_s = reader.number("interval_s", kLeast_s, kMost_s);
  if (is_first(reader, "write_s", "bandwidth_bytes_per_s")) {
    model.checkpoint_write_s = reader.number("write_s", kLeast_s, kMost_s, "bandwidth_bytes_per_s");
    for (const char* key : {"size_bytes", "bytes_per_parameter"}) refuse_beside(reader, "write_s", key);
    return std::nullopt;
  }
  const double bandwidth_bytes_per_s = reader.number("bandwidth_bytes_per_s", 1, kMost_bytes);
  model.checkpoint_write_s = checkpoint_write_s(checkpoint_bytes(reader, context), bandwidth_bytes_per_s);
  // Adapters come on top of weights that the run did not save.
  double frozen_bytes = 0;
  if (context.model != nullptr && context.plan.lora_rank > 0)
    frozen_bytes = kWeightBytes * context.model->parameters();
  return model.checkpoint_write_s + frozen_bytes / bandwidth_bytes_per_s;
}

void read_restart(JsonReader reader, std::optional<double> load_s, FailureModel& model) {
  if (reader.silent()) return;
  model.detection_s = reader.number("detection_s", 0, kMost_s);
  model.reschedule_s = reader.number("reschedule_s", 0, kMost_s);
  model.load_s =
      load_s ? number_or(reader, "load_s", 0, kMost_s, *load_s) : reader.number("load_s", 0, kMost_s);
}

std::optional<SparePool> read_spares(JsonReader reader) {
  constexpr std::int64_t kMostUnits = 1 << 20;
  constexpr double kMost_h = 1e6;
  if (reader.silent()) return std::nullopt;
  return SparePool{.n_units = reader.integer("units", 0, kMostUnits),
                   .repair_s = 3600 * reader.number("repair_hours", 0, kMost_h)};
}

}  // namespace

std::optional<FailureModel> read_failures(JsonReader reader, const PlanContext& context) {
  if (reader.silent()) return std::nullopt;
  FailureModel model;
  read_rate(reader, context, model);
  const std::optional<double> load_s = read_checkpoint(reader.object("checkpoint"), context, model);
  read_restart(reader.object("restart"), load_s, model);
  model.spares = read_spares(reader.optional_object("spares"));
  return model;
}

}  // namespace packsim
