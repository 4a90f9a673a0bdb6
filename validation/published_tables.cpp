#include "validation/published_tables.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {
namespace {

constexpr int kMost = 1 << 24;

PublishedTableStep read_step(JsonReader& reader) {
  PublishedTableStep step;
  reader.allow_any_keys();
  step.name = reader.string("ref");
  step.data = reader.string("data");
  step.capacity_tokens = reader.integer("capacity_tokens", 1, kMost);
  step.sequence.ulysses = reader.integer("sp_degree", 1, kMost);
  step.gc_layers = reader.integer("gc_layers", 0, kMost);
  step.micro_batches = reader.integer("micro_batches_per_gpu", 1, kMost, 1);
  step.out_of_memory = reader.string("verdict") == "out_of_memory";
  step.step_time_s = reader.optional_positive("step_time_s");
  if (step.out_of_memory == step.step_time_s.has_value())
    reader.refuse("verdict", "fits with a step_time_s, out_of_memory without one");
  return step;
}

// Fractions of the published number, or absolute differences. Texts beside them say what they are of.
std::map<std::string, double> read_tolerances(JsonReader& tables) {
  std::map<std::string, double> tolerances;
  JsonReader sets = tables.object("tolerances");
  sets.allow_any_keys();
  if (sets.silent()) return tolerances;
  for (const auto& [set, names] : tables.value("tolerances")->items()) {
    JsonReader reader = sets.object(set);
    reader.allow_any_keys();
    for (const auto& [name, value] : names.items()) {
      if (value.is_number()) tolerances[set + "/" + name] = reader.positive(name);
    }
  }
  return tolerances;
}

// value: the key of the number. is_run: a shipped scenario reproduces every row of the table.
std::vector<PublishedRow> read_rows(JsonReader& tables, std::string_view table, std::string_view value,
                                    bool is_run = true) {
  std::vector<PublishedRow> rows;
  for (JsonReader& reader : tables.objects(table)) {
    reader.allow_any_keys();
    const auto ratio = [&](std::string_view key) {
      return reader.has(key) ? std::optional(reader.number(key, 0, 1)) : std::nullopt;
    };
    rows.push_back({.name = reader.string("ref"),
                    .scenario = is_run ? reader.string("scenario") : reader.string("scenario", ""),
                    .strategy = reader.string("strategy", ""),
                    .value = reader.number(value, 0, kMost),
                    .abr = ratio("abr"),
                    .cr = ratio("cr"),
                    .dbr = ratio("dbr"),
                    .pr = ratio("pr"),
                    .model_s = reader.optional_positive("model_s"),
                    .n_ranks = reader.integer("n_ranks", 1, kMost, 0),
                    .note = reader.string("note", "")});
  }
  return rows;
}

void read_setting(JsonReader reader, const DataPaths& data, PublishedTables& tables) {
  reader.allow_any_keys();
  JsonReader cluster = reader.object("cluster");
  const std::string model = reader.string("model");
  const std::string type = cluster.string("type");
  const int nodes = cluster.integer("nodes", 1, kMost);
  JsonReader plan = reader.object("plan");
  tables.plan.zero_stage = plan.integer("zero_stage", 0, 3);
  tables.plan.execution.fp32_gradients = plan.boolean("fp32_gradients");
  if (model.empty() || type.empty()) return;
  tables.model = load_model(model, data);
  tables.cluster = load_cluster_type(type, data);
  tables.cluster.nodes = nodes;
  tables.plan.n_gpus = tables.cluster.n_gpus();
}

}  // namespace

double PublishedTables::tolerance(const std::string& name) const {
  const auto found = tolerances.find(name);
  if (found == tolerances.end())
    throw std::invalid_argument("hbp.json: /tolerances/" + name + ": missing, expected number > 0");
  return found->second;
}

PublishedTables load_published_tables(const std::string& path, const DataPaths& data) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  PublishedTables tables;
  {
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    reader.integer("format", 1, 1);
    read_setting(reader.object("setting"), data, tables);
    tables.tolerances = read_tolerances(reader);
    for (JsonReader& step : reader.objects("step_time")) tables.steps.push_back(read_step(step));
    tables.ablation = read_rows(reader, "ablation", "gpu_days");
    tables.group_selection = read_rows(reader, "group_selection", "gpu_days");
    tables.strategies = read_rows(reader, "strategies", "gpu_days");
    tables.batching = read_rows(reader, "batching", "gpu_days");
    tables.flexsp = read_rows(reader, "flexsp", "gpu_days");
    tables.longalign = read_rows(reader, "longalign", "gpu_days");
    tables.ratios = read_rows(reader, "deepseek", "isf_over_hbp");
    tables.planning = read_rows(reader, "flexsp_planning", "exposed_data_s");
    // Only planners that are waited for.
    std::erase_if(tables.planning, [](const PublishedRow& wait) { return wait.value <= 0; });
    tables.abr_by_length = read_rows(reader, "packing_by_length", "abr", false);
    tables.abr_by_data_set = read_rows(reader, "abr_by_data_set", "abr", false);
    tables.overhead = read_rows(reader, "overhead", "minutes", false);
  }
  problems.throw_if_any();
  return tables;
}

}  // namespace packsim
