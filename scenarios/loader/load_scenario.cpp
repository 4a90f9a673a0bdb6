#include "scenarios/loader/load_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "models/kernels/transfer_profile.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/plan_checks.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/read_network.hpp"
#include "scenarios/loader/readers.hpp"
#include "scenarios/loader/scenario_changes.hpp"
#include "scenarios/loader/schema/suggest_key.hpp"
#include "scenarios/training_stacks.hpp"

namespace packsim {
namespace {

// A file that another file, or the command line, refers to.
template <typename T>
using ReadFile = std::function<T(JsonReader)>;
template <typename T>
struct Loaded {
  T value = {};
  std::string path;
  std::string hash;
  bool good = false;
};

template <typename T>
Loaded<T> load_file(const std::string& path, const ReadFile<T>& read, Problems& problems) {
  const std::size_t before = problems.size();
  const JsonDocument document = read_json(path, problems);
  Loaded<T> loaded;
  loaded.value = read(JsonReader(document, problems));
  loaded.path = path;
  loaded.hash = document.hash;
  loaded.good = problems.size() == before;
  return loaded;
}

ReadFile<Cluster> cluster_reader(const DataPaths& data, Problems& problems) {
  return [&](JsonReader reader) { return read_cluster_type(std::move(reader), data, problems); };
}

ReadFile<Trainer> trainer_reader(const DataPaths& data, Problems& problems) {
  return [&](JsonReader reader) { return read_trainer(std::move(reader), data, problems); };
}

// The stack of the scenario's trainer; null without a trainer.
const TrainingStack* stack_of(const Loaded<Trainer>& trainer) {
  const auto stack = std::ranges::find(kTrainingStacks, trainer.value.stack, &TrainingStack::name);
  return trainer.good && stack != kTrainingStacks.end() ? &*stack : nullptr;
}

// The file that a member of the scenario names.
template <typename T>
Loaded<T> load_member(JsonReader& reader, std::string_view key, const NamedFiles& kind,
                      const ReadFile<T>& read, const std::string& scenario_folder, const DataPaths& data,
                      Problems& problems) {
  const std::string name = reader.file_name(key, kind);
  if (name.empty()) return {};
  const FoundFile file = find_named_file(kind, name, scenario_folder, data);
  if (file.found()) return load_file(file.path, read, problems);
  reader.refuse(key, file.expected, file.got);
  return {};
}

std::string path_or_throw(const NamedFiles& kind, const std::string& name_or_path, const DataPaths& data) {
  const FoundFile file = find_named_file(kind, name_or_path, "", data);
  if (!file.found()) {
    Problems problems;
    problems.add({.file = "", .place = std::string(kind.what), .expected = file.expected, .got = file.got});
    problems.throw_if_any();
  }
  return file.path;
}

template <typename T>
T load_named(const NamedFiles& kind, const std::string& name_or_path, const ReadFile<T>& read,
             const DataPaths& data, Problems& problems) {
  Loaded<T> loaded = load_file(path_or_throw(kind, name_or_path, data), read, problems);
  problems.throw_if_any();
  return std::move(loaded.value);
}

std::string read_baseline(JsonReader& reader, const std::vector<StrategySpec>& strategies) {
  const std::vector<std::string> names = names_in(strategies);
  // Strategies that could not be read have no name to choose from.
  const bool all_named = !names.empty() && std::ranges::find(names, "") == names.end();
  if (!all_named) return reader.string("baseline", "");
  return names[reader.one_of_own("baseline", names, 0)];
}

// The trainer that the scenario names, if any.
Loaded<Trainer> load_trainer_of(JsonReader& reader, const std::string& folder, const DataPaths& data,
                                Problems& problems) {
  if (reader.has("trainer"))
    return load_member(reader, "trainer", kTrainerFiles, trainer_reader(data, problems), folder, data,
                       problems);
  reader.value("trainer");  // which makes it a known key
  return {};
}

// The plan as a stack executes it, where that differs from its profile.
ParallelPlan with_style_of(const TrainingStack* stack, const Transformer& model, const ParallelPlan& plan) {
  if (stack == nullptr) return plan;
  Problems of_stack;
  const JsonDocument document{.file = std::string(stack->name),
                              .hash = {},
                              .root = std::make_shared<const Json>(
                                  Json::parse(fmt::format("{{{}}}", stack->keys(model.has_experts()))))};
  return read_parallelism(JsonReader(document, of_stack), plan);
}

// Whether the profile was fitted to steps of the model: by its sizes, or by its name where packsim does not
// know that one. A profile of several models says by its left-out error what others are like.
bool is_model_of(const FrameworkProfile& profile, const Transformer& model, const DataPaths& data) {
  const std::vector<std::string>& models = profile.fitted_on.models;
  if (models.size() > 1) return true;
  return std::ranges::any_of(models, [&](const std::string& name) {
    const FoundFile file = find_named_file(kModelFiles, name, "", data);
    if (!file.found()) return model.name == name;
    Problems of_profile;
    const Loaded<Transformer> known = load_file<Transformer>(file.path, read_model, of_profile);
    return known.good && model.has_sizes_of(known.value);
  });
}

ReadFile<HardwareProfile> hardware_reader(const DataPaths& data, Problems& problems) {
  return [&](JsonReader reader) { return read_hardware_profile(std::move(reader), data, problems); };
}

// The hardware profile that the framework profile is on.
Loaded<HardwareProfile> load_hardware_of(const Loaded<FrameworkProfile>& framework, JsonReader& reader,
                                         const DataPaths& data, Problems& problems) {
  if (!framework.good) return {};
  const std::string beside = std::filesystem::path(framework.path).parent_path().string();
  const FoundFile file = find_named_file(kHardwareProfileFiles, framework.value.hardware, beside, data);
  if (file.found()) return load_file(file.path, hardware_reader(data, problems), problems);
  reader.refuse("profile", "a profile whose hardware is " + file.expected, file.got);
  return {};
}

// How the framework of the profile executes a step, unless the scenario says otherwise: without what it does
// with experts where the model has none.
ExecutionStyle execution_of(const FrameworkProfile& profile, const Transformer& model) {
  ExecutionStyle execution = profile.execution;
  if (!model.has_experts()) {
    const ExecutionStyle usual;
    execution.experts = usual.experts;
    execution.splits_experts = usual.splits_experts;
  }
  return execution;
}

// The profile as it is on the scenario's GPUs and links.
HardwareProfile on_cluster(const Loaded<HardwareProfile>& hardware, const Loaded<Cluster>& cluster,
                           std::string_view key, JsonReader& reader) {
  const HardwareProfile& profile = hardware.value;
  if (!hardware.good || !cluster.good) return profile;
  const std::string& gpu = cluster.value.gpu.driver_name;
  if (profile.data_sheet || profile.gpu == gpu) return profile_on(profile, cluster.value);
  reader.refuse(key, fmt::format("kernels of {}, or of a GPU with a file in {}", gpu, kGpuFiles.folder),
                fmt::format("{}, measured on {}", profile.name, profile.gpu));
  return profile;
}

// The hardware profile that the file of the cluster's GPU names, if any. If that profile names another for
// the kernels that it lacks, one program measured both, so it is used only with framework profiles on the
// other.
Loaded<HardwareProfile> load_hardware_of_gpu(JsonReader& reader, const HardwareProfile& of_framework,
                                             const Loaded<Cluster>& cluster, const DataPaths& data,
                                             Problems& problems) {
  const std::string& name = cluster.value.gpu.hardware;
  if (!cluster.good || name.empty()) return {};
  const FoundFile file = find_named_file(kHardwareProfileFiles, name, "", data);
  if (!file.found()) {
    reader.refuse("cluster", "a GPU whose hardware is " + file.expected, file.got);
    return {};
  }
  Loaded<HardwareProfile> loaded = load_file(file.path, hardware_reader(data, problems), problems);
  const std::string& measured_like = loaded.value.missing_kernels_from;
  return measured_like.empty() || measured_like == of_framework.name ? loaded : Loaded<HardwareProfile>();
}

// Kernels of a scenario, and whether they are those that its framework profile is relative to.
struct ScenarioHardware {
  Loaded<HardwareProfile> kernels;
  bool is_of_profile = true;
  double attention_change = 1;  ///< of the framework profile's factor on attention
};

// The hardware profile that the scenario names. Else the one that the framework profile is on, if it was
// fitted to steps of the cluster's GPU, and else the one that this GPU's file names, if it goes with that.
// For kernels that it does not have, and where none is named, the one that the framework profile is on.
ScenarioHardware load_hardware(JsonReader& reader, const Loaded<FrameworkProfile>& framework,
                               const Loaded<Cluster>& cluster, const std::string& folder,
                               const DataPaths& data, Problems& problems) {
  Loaded<HardwareProfile> of_framework = load_hardware_of(framework, reader, data, problems);
  const double attention_change = framework.value.has_flash_attention_2
                                      ? flash_attention_2_change(of_framework.value, cluster.value.gpu)
                                      : 1;
  const bool is_named = reader.has("hardware");
  if (!is_named) reader.value("hardware");  // which makes it a known key
  const bool is_gpu_of_profile =
      framework.good && cluster.good && framework.value.gpu == cluster.value.gpu.driver_name;
  Loaded<HardwareProfile> named;
  if (is_named) {
    named = load_member(reader, "hardware", kHardwareProfileFiles, hardware_reader(data, problems), folder,
                        data, problems);
  } else if (!is_gpu_of_profile) {
    named = load_hardware_of_gpu(reader, of_framework.value, cluster, data, problems);
  }
  if (!is_named && !named.good) {
    of_framework.value = on_cluster(of_framework, cluster, "profile", reader);
    return {.kernels = of_framework, .attention_change = attention_change};
  }
  named.value = on_cluster(named, cluster, "hardware", reader);
  const bool is_of_profile =
      named.value.name == framework.value.hardware ||
      (named.value.name == cluster.value.gpu.hardware && !named.value.missing_kernels_from.empty() &&
       named.value.missing_kernels_from == of_framework.value.name);
  if (of_framework.good && named.value.name != of_framework.value.name)
    named.value = with_missing_families(named.value, on_cluster(of_framework, cluster, "profile", reader));
  return {.kernels = named, .is_of_profile = is_of_profile, .attention_change = attention_change};
}

std::vector<ScenarioChange> change_document(JsonDocument& document, std::span<const std::string> settings,
                                            Problems& problems) {
  if (settings.empty() || document.root == nullptr || !document.root->is_object()) return {};
  Json changed = *document.root;
  std::vector<ScenarioChange> changes = change_scenario(changed, settings, problems);
  document.hash = hash_of_scenario(changed);
  document.root = std::make_shared<const Json>(std::move(changed));
  return changes;
}

// The messages of the strategies with mistakes, by their place in the list; nothing if there are other
// mistakes.
std::map<std::size_t, std::vector<std::string>> mistaken_strategies(const Problems& problems,
                                                                    const JsonDocument& document,
                                                                    std::span<const ScenarioChange> changes) {
  constexpr std::string_view kStrategies = "/strategies/";
  std::map<std::size_t, std::vector<std::string>> messages;
  for (const Problem& problem : problems.all()) {
    const std::string_view place = problem.place;
    std::size_t index = 0;
    const char* const begin = place.data() + std::min(kStrategies.size(), place.size());
    const auto [end, error] = std::from_chars(begin, place.data() + place.size(), index);
    if (problem.file != document.file || !place.starts_with(kStrategies) || error != std::errc{}) return {};
    Problems alone;
    alone.add(problem);
    messages[index].push_back(with_settings(alone, document.file, changes).all().front().message());
  }
  return messages;
}

// Takes the strategies with these indices out of the document.
std::vector<RefusedStrategy> take_out(JsonDocument& document,
                                      const std::map<std::size_t, std::vector<std::string>>& messages) {
  Json changed = *document.root;
  std::vector<RefusedStrategy> refused;
  for (const auto& [index, lines] : std::views::reverse(messages)) {
    Json& strategies = changed.at("strategies");
    const Json& entry = strategies.at(index);
    const std::string name = entry.value("name", entry.value("strategy", std::string()));
    strategies.erase(index);
    if (changed.value("baseline", std::string()) == name) changed.erase("baseline");
    refused.insert(refused.begin(), {.name = name, .messages = lines});
  }
  document.hash = hash_of_scenario(changed);
  document.root = std::make_shared<const Json>(std::move(changed));
  return refused;
}

// problems: those of reading the document.
Scenario scenario_of(JsonDocument document, const std::string& folder, const DataPaths& data,
                     std::span<const std::string> settings, MistakenStrategies mistaken, Problems& problems) {
  const std::vector<ScenarioChange> changes = change_document(document, settings, problems);
  problems.throw_if_any();
  document.suggest_key = [&](const auto&... asked) { return suggest_scenario_key(asked..., data); };
  Scenario scenario = read_scenario(JsonReader(document, problems), folder, data, problems);
  if (mistaken == MistakenStrategies::leave_out && problems.size() > 0) {
    const auto messages = mistaken_strategies(problems, document, changes);
    if (!messages.empty() && messages.size() < scenario.strategies.size()) {
      const std::vector<RefusedStrategy> refused = take_out(document, messages);
      problems = {};
      scenario = read_scenario(JsonReader(document, problems), folder, data, problems);
      scenario.refused_strategies = refused;
    }
  }
  with_settings(problems, document.file, changes).throw_if_any();
  scenario.path = document.file;
  scenario.json = document.root;
  scenario.scenario_hash = document.hash;
  scenario.scenario_text = scenario_text_of(*document.root);
  scenario.files = problems.files();
  scenario.files.erase(document.file);
  return scenario;
}

}  // namespace

Scenario read_scenario(JsonReader reader, const std::string& folder, const DataPaths& data,
                       Problems& problems) {
  Scenario scenario;
  reader.string("$schema", "");  // for editors
  reader.integer("format", 1, 1);
  scenario.name = reader.string("name");
  scenario.description = reader.string("description", "");
  scenario.seed = reader.integer("seed", 0, 4294967295U, scenario.seed);

  const auto model =
      load_member<Transformer>(reader, "model", kModelFiles, read_model, folder, data, problems);
  JsonReader of_cluster = reader.object("cluster");
  auto cluster =
      load_member(of_cluster, "type", kClusterFiles, cluster_reader(data, problems), folder, data, problems);
  const std::size_t before = problems.size();
  cluster.value.nodes = of_cluster.integer("nodes", 1, kMostNodes);
  cluster.value.gpu_hour_price = of_cluster.optional_positive("gpu_hour_price");
  if (of_cluster.has("network"))
    cluster.value.design =
        read_named_network(of_cluster, folder, cluster.good ? &cluster.value : nullptr, data, problems);
  of_cluster.value("network");  // which makes it a known key
  read_cluster_changes(of_cluster, cluster.good, cluster.value);
  if (cluster.value.design && cluster.good && problems.size() == before)
    check_network_paths(of_cluster, of_cluster.has("network") ? "network" : "type", cluster.value);
  cluster.good = cluster.good && problems.size() == before;
  const auto trainer = load_trainer_of(reader, folder, data, problems);
  if (trainer.good) scenario.trainer = std::make_shared<Trainer>(trainer.value);
  // What the trainer's stack does, where the scenario has no profile.
  const TrainingStack* const stack = reader.has("profile") ? nullptr : stack_of(trainer);
  if (stack != nullptr) reader.value("profile");  // which makes it a known key
  const auto profile = stack == nullptr ? load_member<FrameworkProfile>(reader, "profile", kProfileFiles,
                                                                        read_profile, folder, data, problems)
                                        : load_file<FrameworkProfile>(
                                              path_of(kProfileFiles, std::string(stack->profile), data),
                                              read_profile, problems);
  scenario.model = model.value;
  scenario.cluster = cluster.value;
  scenario.profile = profile.value;
  scenario.profile_hash = profile.hash;
  const auto [hardware, is_of_profile, attention_change] =
      load_hardware(reader, profile, cluster, folder, data, problems);
  scenario.hardware = hardware.value;
  scenario.profile.factors.attention_factor *= attention_change;
  scenario.is_model_of_profile = is_model_of(scenario.profile, scenario.model, data);
  scenario.is_hardware_of_profile = is_of_profile;
  scenario.hardware_hash = hardware.hash;

  const std::size_t before_plan = problems.size();
  scenario.training = read_training(reader.object("training"));
  scenario.plan = read_parallelism(reader.optional_object("parallelism"),
                                   with_style_of(stack, scenario.model,
                                                 {.zero_stage = scenario.training.zero_stage,
                                                  .execution = execution_of(profile.value, scenario.model)}));
  scenario.training.zero_stage = scenario.plan.zero_stage;
  const bool plan_is_read = problems.size() == before_plan;
  scenario.plan.n_gpus = cluster.value.n_gpus();
  scenario.lengths = read_length_spec(reader.object("lengths"), folder, data, reader.has("mixing"));
  scenario.mixing = read_mixing(reader.optional_object("mixing"), scenario.lengths, scenario.training,
                                scenario.seed, folder, data, problems);
  PlanContext context{.model = model.good ? &model.value : nullptr,
                      .cluster = cluster.good ? &cluster.value : nullptr,
                      .plan = scenario.plan,
                      .trainer = scenario.trainer.get(),
                      .has_mixture = reader.has("mixing")};
  if (plan_is_read) context.refused_keys = check_plan(reader, context);
  const int most_gpus = cluster.good ? cluster.value.n_gpus() : kMostGpus;
  scenario.variability = read_variability(reader.optional_object("variability"), scenario.seed, most_gpus);
  scenario.failures = read_failures(reader.optional_object("failures"), context);
  scenario.beside_steps =
      read_beside_steps(reader.optional_object("beside_steps"), context, reader.has("failures"));
  scenario.strategies = read_strategies(reader, scenario.seed, context);
  read_what_if(reader.optional_object("what_if"), scenario);
  scenario.baseline = read_baseline(reader, scenario.strategies);
  return scenario;
}

Scenario load_scenario(const std::string& path, const DataPaths& data, std::span<const std::string> settings,
                       MistakenStrategies mistaken) {
  const bool is_piped = path == kStandardInput;
  const std::string file = is_piped || is_path(path) ? path : path_or_throw(kScenarioFiles, path, data);
  Problems problems;
  JsonDocument document = read_json(file, problems, Comments::allowed);
  const std::string folder = is_piped ? "" : std::filesystem::path(file).parent_path().string();
  return scenario_of(std::move(document), folder, data, settings, mistaken, problems);
}

Scenario load_scenario_text(const std::string& text, const std::string& name, const DataPaths& data,
                            std::span<const std::string> settings, MistakenStrategies mistaken) {
  Problems problems;
  JsonDocument document{.file = name, .hash = {}, .root = nullptr};
  if (std::optional<Json> root = parse_json(name, text, problems)) {
    document.hash = hash_of_scenario(*root);
    document.root = std::make_shared<const Json>(std::move(*root));
  }
  return scenario_of(std::move(document), "", data, settings, mistaken, problems);
}

Transformer load_model(const std::string& name_or_path, const DataPaths& data) {
  Problems problems;
  return load_named<Transformer>(kModelFiles, name_or_path, read_model, data, problems);
}

Trainer load_trainer(const std::string& name_or_path, const DataPaths& data) {
  Problems problems;
  return load_named(kTrainerFiles, name_or_path, trainer_reader(data, problems), data, problems);
}

Gpu load_gpu(const std::string& name_or_path, const DataPaths& data) {
  Problems problems;
  return load_named<Gpu>(kGpuFiles, name_or_path, read_gpu, data, problems);
}

Cluster load_cluster_type(const std::string& name_or_path, const DataPaths& data) {
  Problems problems;
  return load_named(kClusterFiles, name_or_path, cluster_reader(data, problems), data, problems);
}

HardwareProfile load_hardware_profile(const std::string& name_or_path, const DataPaths& data) {
  Problems problems;
  return load_named(kHardwareProfileFiles, name_or_path, hardware_reader(data, problems), data, problems);
}

FrameworkProfile load_profile(const std::string& name_or_path, const DataPaths& data) {
  Problems problems;
  return load_named<FrameworkProfile>(kProfileFiles, name_or_path, read_profile, data, problems);
}

PriceList load_price_list(const std::string& path) {
  Problems problems;
  Loaded<PriceList> loaded = load_file<PriceList>(path, read_price_list, problems);
  problems.throw_if_any();
  return std::move(loaded.value);
}

}  // namespace packsim
