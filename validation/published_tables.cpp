#include "validation/published_tables.hpp"

#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {
namespace {

constexpr int kMost = 1 << 24;

PublishedTableStep read_step(JsonReader& reader) {
  PublishedTableStep step;
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
  reader.allow_any_keys();
  return step;
}

// Only rows that a shipped scenario reproduces.
std::vector<PublishedRun> read_runs(JsonReader& tables, std::string_view key) {
  std::vector<PublishedRun> runs;
  for (JsonReader& reader : tables.objects(key)) {
    reader.allow_any_keys();
    PublishedRun run;
    run.name = reader.string("ref");
    run.strategy = reader.string("strategy");
    run.scenario = reader.string("scenario");
    run.gpu_days = reader.positive("gpu_days");
    if (reader.has("abr")) run.abr = reader.number("abr", 0, 1);
    if (reader.has("cr")) run.cr = reader.number("cr", 0, 1);
    if (reader.has("dbr")) run.dbr = reader.number("dbr", 0, 1);
    if (reader.has("pr")) run.pr = reader.number("pr", 0, 1);
    run.note = reader.string("note", "");
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<PublishedRatio> read_ratios(JsonReader& tables) {
  std::vector<PublishedRatio> ratios;
  for (JsonReader& reader : tables.objects("deepseek")) {
    reader.allow_any_keys();
    ratios.push_back({.name = reader.string("ref"),
                      .scenario = reader.string("scenario"),
                      .over = "isf",
                      .under = "hbp",
                      .ratio = reader.positive("isf_over_hbp"),
                      .note = reader.string("note", "")});
  }
  return ratios;
}

// Only of planners that are waited for.
std::vector<PublishedWait> read_waits(JsonReader& tables) {
  std::vector<PublishedWait> waits;
  for (JsonReader& reader : tables.objects("flexsp_planning")) {
    reader.allow_any_keys();
    PublishedWait wait{.name = reader.string("ref"),
                       .scenario = reader.string("scenario"),
                       .strategy = reader.string("strategy"),
                       .exposed_s = reader.number("exposed_data_s", 0, kMost),
                       .model_s = reader.positive("model_s")};
    if (wait.exposed_s > 0) waits.push_back(std::move(wait));
  }
  return waits;
}

std::vector<PublishedAbr> read_abrs(JsonReader& tables, std::string_view key) {
  std::vector<PublishedAbr> abrs;
  for (JsonReader& reader : tables.objects(key)) {
    reader.allow_any_keys();
    abrs.push_back({.name = reader.string("ref"),
                    .scenario = reader.string("scenario", ""),
                    .strategy = reader.string("strategy", ""),
                    .n_ranks = reader.integer("n_ranks", 1, kMost, 0),
                    .abr = reader.number("abr", 0, 1),
                    .note = reader.string("note", "")});
  }
  return abrs;
}

std::vector<PublishedDuration> read_durations(JsonReader& tables) {
  std::vector<PublishedDuration> durations;
  for (JsonReader& reader : tables.objects("overhead")) {
    reader.allow_any_keys();
    durations.push_back({.name = reader.string("ref"),
                         .scenario = reader.string("scenario", ""),
                         .strategy = reader.string("strategy", ""),
                         .minutes = reader.positive("minutes"),
                         .note = reader.string("note", "")});
  }
  return durations;
}

PublishedTolerances read_tolerances(JsonReader reader) {
  reader.allow_any_keys();
  const auto fraction = [&](std::string_view name, std::string_view key) {
    JsonReader of = reader.object(name);
    of.allow_any_keys();
    return of.positive(key);
  };
  PublishedTolerances tolerances;
  tolerances.step_mean = fraction("step_time", "mean_fraction");
  tolerances.step_max = fraction("step_time", "max_fraction");
  tolerances.step_left_out_mean = fraction("step_time", "left_out_mean_fraction");
  tolerances.gc_layers = static_cast<int>(fraction("memory", "gc_layers"));
  tolerances.ablation = fraction("ablation", "fraction");
  tolerances.group_selection = fraction("group_selection", "fraction");
  tolerances.strategies = fraction("strategies", "fraction");
  tolerances.ratio = fraction("deepseek_ratio", "fraction");
  tolerances.flexsp_gpu_days = fraction("flexsp", "gpu_days_fraction");
  tolerances.flexsp_abr = fraction("flexsp", "abr");
  tolerances.flexsp_cr = fraction("flexsp", "cr");
  tolerances.planning = fraction("flexsp_planning", "fraction");
  tolerances.abr_by_length = fraction("packing_by_length", "abr");
  tolerances.abr_by_data_set = fraction("abr_by_data_set", "abr");
  tolerances.rank_correlation = fraction("rank_correlation", "difference");
  tolerances.longalign = fraction("longalign", "fraction");
  tolerances.overhead = fraction("overhead", "fraction");
  return tolerances;
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

PublishedTables load_published_tables(const std::string& path, const DataPaths& data) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  PublishedTables tables;
  {
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    reader.integer("format", 1, 1);
    read_setting(reader.object("setting"), data, tables);
    tables.tolerances = read_tolerances(reader.object("tolerances"));
    for (JsonReader& step : reader.objects("step_time")) tables.steps.push_back(read_step(step));
    tables.ablation = read_runs(reader, "ablation");
    tables.group_selection = read_runs(reader, "group_selection");
    tables.strategies = read_runs(reader, "strategies");
    tables.batching = read_runs(reader, "batching");
    tables.ratios = read_ratios(reader);
    tables.flexsp = read_runs(reader, "flexsp");
    tables.planning = read_waits(reader);
    tables.abr_by_length = read_abrs(reader, "packing_by_length");
    tables.abr_by_data_set = read_abrs(reader, "abr_by_data_set");
    tables.longalign = read_runs(reader, "longalign");
    tables.overhead = read_durations(reader);
  }
  problems.throw_if_any();
  return tables;
}

}  // namespace packsim
