#include "scenarios/loader/read_published_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

// An array of sentences; none where the key is missing.
std::vector<std::string> read_texts(JsonReader& reader, std::string_view key) {
  std::vector<std::string> texts;
  const Json* array = reader.value(key);
  if (array == nullptr) return texts;
  const auto is_text = [](const Json& text) {
    return text.is_string() && !text.get_ref<const std::string&>().empty();
  };
  if (!array->is_array() || !std::ranges::all_of(*array, is_text)) {
    reader.refuse(key, "array of texts");
    return texts;
  }
  for (const Json& text : *array) texts.push_back(text.get<std::string>());
  return texts;
}

std::optional<double> optional_fraction(JsonReader& reader, std::string_view key) {
  const std::optional<double> fraction = reader.optional_positive(key);
  if (fraction && *fraction > 1) {
    reader.refuse(key, "number over 0, up to 1");
    return std::nullopt;
  }
  return fraction;
}

// Every key of a plan; the number of GPUs and the ZeRO stage have to be said.
ParallelPlan read_plan(JsonReader reader) {
  ParallelPlan plan = default_plan();
  for (const PlanKey& key : plan_keys()) {
    const bool is_required = key.part == PlanPart::cluster || key.part == PlanPart::training;
    if (is_required && !reader.has(key.name())) reader.refuse(key.name(), expected_of(key));
    read_plan_value(reader, key, plan);
  }
  return plan;
}

std::vector<PublishedMicroBatches> read_micro_batches(JsonReader& step) {
  constexpr int kMostMicroBatches = 1 << 20;
  std::vector<PublishedMicroBatches> all;
  for (JsonReader& reader : step.objects("micro_batches")) {
    PublishedMicroBatches batches;
    batches.n_micro_batches = reader.integer("count", 1, kMostMicroBatches);
    const std::string text = reader.string("documents");
    try {
      if (!text.empty()) batches.documents = parse_documents(text);
    } catch (const std::invalid_argument& error) {
      reader.refuse("documents", "documents such as 8x512+1x4096",
                    fmt::format("{} ({})", quote(text), error.what()));
    }
    all.push_back(std::move(batches));
  }
  return all;
}

PublishedFigures read_figures(JsonReader reader) {
  PublishedFigures figures{.step_time_s = reader.optional_positive("step_time_s"),
                           .tokens_per_s = reader.optional_positive("tokens_per_s"),
                           .mfu_fraction = optional_fraction(reader, "mfu_fraction"),
                           .parameters = reader.optional_positive("parameters")};
  if (!reader.has("step_time_s") && !reader.has("tokens_per_s"))
    reader.refuse("step_time_s", "this or tokens_per_s");
  return figures;
}

// A model of the file, and what it cannot say.
struct ModelEntry {
  Transformer model;
  std::vector<std::string> differs;
};

class StepsReader {
 public:
  StepsReader(const DataPaths& data, Problems& problems) : data_(data), problems_(problems) {}

  PublishedSteps read_all(JsonReader reader);

 private:
  void read_source(JsonReader& reader);
  void read_model_entry(JsonReader& reader);
  void read_step(JsonReader& reader);
  void read_unusable(JsonReader& reader);
  std::string read_id(JsonReader& reader);
  std::string read_source_id(JsonReader& reader);
  Cluster read_cluster(JsonReader reader);
  const ModelEntry* find_model(JsonReader& step);
  void check(JsonReader& reader, const PublishedStep& step) const;

  // A shipped file that a key names; nothing where there is none.
  template <typename T>
  std::optional<T> load(JsonReader& reader, std::string_view key, const NamedFiles& kind,
                        const std::string& name, const std::function<T(JsonReader)>& read);

  const DataPaths& data_;
  Problems& problems_;
  PublishedSteps all_;
  std::map<std::string, ModelEntry> models_;
  std::map<std::string, Cluster> clusters_;
  std::set<std::string> ids_;
  std::map<std::string, std::vector<std::string>> missing_of_source_;
};

template <typename T>
std::optional<T> StepsReader::load(JsonReader& reader, std::string_view key, const NamedFiles& kind,
                                   const std::string& name, const std::function<T(JsonReader)>& read) {
  const FoundFile file = find_named_file(kind, name, "", data_);
  if (!file.found()) {
    reader.refuse(key, file.expected, file.got);
    return std::nullopt;
  }
  const JsonDocument document = read_json(file.path, problems_);
  return read(JsonReader(document, problems_));
}

std::string StepsReader::read_id(JsonReader& reader) {
  std::string id = reader.string("id");
  if (!id.empty() && !ids_.insert(id).second) reader.refuse("id", "an id of its own", quote(id) + " again");
  return id;
}

std::string StepsReader::read_source_id(JsonReader& reader) {
  std::string source = reader.string("source");
  if (!source.empty() && !missing_of_source_.contains(source)) reader.refuse("source", "the id of a source");
  return source;
}

void StepsReader::read_source(JsonReader& reader) {
  PublishedSource source;
  source.id = read_id(reader);
  source.citation = reader.string("citation");
  source.url = reader.string("url");
  source.licence = reader.string("licence");
  source.stack = reader.string("stack", "");
  source.mfu_convention = reader.string("mfu_convention", "");
  source.contradictions = read_texts(reader, "contradictions");
  missing_of_source_[source.id] = read_texts(reader, "missing");
  all_.sources.push_back(std::move(source));
}

void StepsReader::read_model_entry(JsonReader& reader) {
  ModelEntry entry{.model = read_model(reader.object("model")), .differs = read_texts(reader, "differs")};
  const std::string name = entry.model.name;
  if (!name.empty() && !models_.emplace(name, std::move(entry)).second)
    reader.refuse("model", "a name of its own", quote(name) + " again");
}

Cluster StepsReader::read_cluster(JsonReader reader) {
  const std::string type = reader.string("type");
  if (!type.empty() && !clusters_.contains(type)) {
    const auto read = [&](JsonReader file) { return read_cluster_type(std::move(file), data_, problems_); };
    if (std::optional<Cluster> cluster = load<Cluster>(reader, "type", kClusterFiles, type, read))
      clusters_[type] = std::move(*cluster);
  }
  Cluster cluster = clusters_.contains(type) ? clusters_.at(type) : Cluster{};
  cluster.nodes = reader.integer("nodes", 1, kMostNodes);
  if (!reader.has("gpus_per_node")) return cluster;
  if (cluster.nodes > 1) reader.refuse("nodes", "1, as gpus_per_node is given");
  cluster.gpus_per_node = reader.integer("gpus_per_node", 1, cluster.gpus_per_node);
  return cluster;
}

const ModelEntry* StepsReader::find_model(JsonReader& step) {
  const std::string name = step.string("model");
  if (name.empty()) return nullptr;
  if (!models_.contains(name)) {
    std::optional<Transformer> model = load<Transformer>(step, "model", kModelFiles, name, read_model);
    if (!model) return nullptr;
    models_[name] = {.model = std::move(*model), .differs = {}};
  }
  return &models_.at(name);
}

void StepsReader::check(JsonReader& reader, const PublishedStep& step) const {
  const ParallelPlan& plan = step.plan;
  if (plan.n_gpus != step.cluster.n_gpus())
    reader.refuse("plan", fmt::format("n_gpus of the cluster's {} GPUs", step.cluster.n_gpus()),
                  fmt::format("{}", plan.n_gpus));
  std::int64_t rank_gpus = 1;
  for (const int degree : {plan.tp_degree, plan.sequence.ulysses, plan.sequence.ring, plan.pp_degree}) {
    rank_gpus *= degree;
    if (rank_gpus > plan.n_gpus) break;  // the whole product may leave 64 bits
  }
  if (plan.n_gpus % rank_gpus != 0)
    reader.refuse("plan", fmt::format("degrees whose product divides {} GPUs", plan.n_gpus),
                  fmt::format("{}", rank_gpus));
  if (plan.gc_layers > step.model.n_layers)
    reader.refuse("plan", fmt::format("gc_layers of 0..{}", step.model.n_layers),
                  fmt::format("{}", plan.gc_layers));
}

void StepsReader::read_step(JsonReader& reader) {
  const std::size_t before = reader.n_problems();
  PublishedStep step;
  step.id = read_id(reader);
  step.source = read_source_id(reader);
  step.added = reader.boolean("added", false);
  step.cluster = read_cluster(reader.object("cluster"));
  if (const ModelEntry* entry = find_model(reader)) {
    step.model = entry->model;
    step.model_differs = entry->differs;
  }
  step.plan = read_plan(reader.object("plan"));
  step.micro_batches = read_micro_batches(reader);
  step.published = read_figures(reader.object("published"));
  if (missing_of_source_.contains(step.source)) step.missing = missing_of_source_.at(step.source);
  std::ranges::move(read_texts(reader, "missing"), std::back_inserter(step.missing));
  step.contradictions = read_texts(reader, "contradictions");
  step.note = reader.string("note", "");
  if (reader.n_problems() != before) return;
  check(reader, step);
  if (reader.n_problems() != before) return;
  step.step_time_s = step.published.step_time_s ? *step.published.step_time_s
                                                : step.tokens_per_step() / *step.published.tokens_per_s;
  all_.steps.push_back(std::move(step));
}

void StepsReader::read_unusable(JsonReader& reader) {
  UnusableStep step;
  step.id = read_id(reader);
  step.source = read_source_id(reader);
  step.model = reader.string("model");
  step.n_gpus = reader.integer("n_gpus", 1, kMostGpus);
  reader.optional_object("facts").allow_any_keys();  // for people
  step.reasons = read_texts(reader, "reasons");
  if (step.reasons.empty()) reader.refuse("reasons", "at least one reason");
  step.contradictions = read_texts(reader, "contradictions");
  all_.unusable.push_back(std::move(step));
}

PublishedSteps StepsReader::read_all(JsonReader reader) {
  reader.integer("format", 1, 1);
  for (JsonReader& source : reader.objects("sources")) read_source(source);
  if (reader.has("models")) {
    for (JsonReader& model : reader.objects("models")) read_model_entry(model);
  }
  for (JsonReader& step : reader.objects("steps")) read_step(step);
  if (reader.has("unusable")) {
    for (JsonReader& step : reader.objects("unusable")) read_unusable(step);
  }
  if (reader.has("not_shipped")) {
    for (JsonReader& rows : reader.objects("not_shipped")) {
      all_.not_shipped.push_back({.citation = rows.string("citation"),
                                  .n_rows = rows.integer("n_rows", 1, kMostGpus),
                                  .reason = rows.string("reason")});
    }
  }
  return std::move(all_);
}

}  // namespace

PublishedSteps load_published_steps(const std::string& path, const DataPaths& data) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  PublishedSteps all = StepsReader(data, problems).read_all(JsonReader(document, problems));
  problems.throw_if_any();
  return all;
}

}  // namespace packsim
