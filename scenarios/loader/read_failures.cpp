#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/loader/json/either_key.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

// Between two failures.
constexpr double kLeastBetween_h = 0.001;
constexpr double kMostBetween_h = 1e9;

// Interruptions of spot nodes, which come on top of other failures: rates add up.
void add_spot(JsonReader& reader, const PlanContext& context, FailureModel& model) {
  if (!reader.has("spot_mtbf_hours")) return;
  const double spot_mtbf_h = reader.number("spot_mtbf_hours", kLeastBetween_h, kMostBetween_h);
  const std::int64_t node_gpus = context.cluster != nullptr ? context.cluster->gpus_per_node : 1;
  const double failures_per_h =
      static_cast<double>(node_gpus) / static_cast<double>(model.unit_gpus) / model.unit_mtbf_h;
  model.unit_mtbf_h = 1 / (failures_per_h + 1 / spot_mtbf_h);
  model.unit_gpus = node_gpus;
}

void read_rate(JsonReader& reader, const PlanContext& context, FailureModel& model) {
  if (reader.has("spot_mtbf_hours") && !reader.has("mtbf_hours") && !reader.has("published")) return;
  if (is_first_key(reader, "mtbf_hours", "published")) {
    model.unit_mtbf_h = reader.number("mtbf_hours", kLeastBetween_h, kMostBetween_h, "published");
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

// Returns what reading a checkpoint takes, where that follows from its size.
std::optional<double> read_checkpoint(JsonReader reader, const PlanContext& context, FailureModel& model) {
  constexpr double kLeast_s = 0.001;
  if (reader.silent()) return 0.0;
  if (reader.value("interval_s") != nullptr)
    model.checkpoint_interval_s = reader.number("interval_s", kLeast_s, kMostSeconds);
  const CheckpointWrite write = read_checkpoint_write(reader, context);
  model.checkpoint_write_s = write.write_s;
  model.checkpoint_blocking_fraction = write.blocking_fraction;
  return write.load_s;
}

void read_restart(JsonReader reader, std::optional<double> load_s, FailureModel& model) {
  if (reader.silent()) return;
  model.detection_s = reader.number("detection_s", 0, kMostSeconds);
  model.reschedule_s = reader.number("reschedule_s", 0, kMostSeconds);
  model.load_s = load_s ? reader.number_or("load_s", 0, kMostSeconds, *load_s)
                        : reader.number("load_s", 0, kMostSeconds);
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
  add_spot(reader, context, model);
  const std::optional<double> load_s = read_checkpoint(reader.object("checkpoint"), context, model);
  read_restart(reader.object("restart"), load_s, model);
  model.spares = read_spares(reader.optional_object("spares"));
  return model;
}

}  // namespace packsim
