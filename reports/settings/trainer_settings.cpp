#include "reports/settings/trainer_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "packing/strategy.hpp"
#include "reports/formats/plan_search_json.hpp"
#include "reports/settings/settings_facts.hpp"
#include "reports/settings/settings_text.hpp"
#include "reports/text/numbers.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {
namespace {

using formats_detail::grouped;

constexpr const char* kReadme = "README.md";

// The file of a trainer where several have theirs.
std::string in_folder(const std::string& trainer, const std::string& file) {
  return trainer + "/" + file;
}

void require_fact(const SettingsFile& file, const SettingsLine& line) {
  if (line.fact.empty() || is_fact(line.fact)) return;
  throw std::invalid_argument(fmt::format("settings for {}: {}: expected a fact (docs/extending.md), got {}",
                                          file.file, line.key, line.fact));
}

bool has_one_of(const TrainerJob& job, const std::string& fact, const std::vector<std::string>& words) {
  const std::optional<PlanValue> value = fact_of(job, fact);
  return value && std::ranges::find(words, plan_value_text(*value)) != words.end();
}

bool is_written(const SettingsLine& line, const TrainerJob& job) {
  const auto holds = [&](const auto& condition) {
    return has_one_of(job, condition.first, condition.second);
  };
  return std::ranges::all_of(line.when, holds) && std::ranges::none_of(line.unless, holds);
}

// What the line says of the job; none if it is not written.
std::optional<Json> value_of(const SettingsLine& line, const TrainerJob& job) {
  if (!is_written(line, job)) return std::nullopt;
  if (line.fact.empty()) return Json::parse(line.constant);
  const std::optional<PlanValue> value = fact_of(job, line.fact);
  if (!value) return std::nullopt;
  if (line.words.empty()) return std::visit([](const auto& one) { return Json(one); }, *value);
  const auto said =
      std::ranges::find(line.words, plan_value_text(*value), &std::pair<std::string, std::string>::first);
  return said == line.words.end() ? std::nullopt : std::optional<Json>(Json::parse(said->second));
}

// Files of the same name are parts of one.
void write_files(const TrainerWay& way, const TrainerJob& job, TrainerSettings& settings) {
  std::set<std::string> said;
  std::vector<std::pair<SettingsFile, std::vector<SettingsValue>>> files;
  bool has_plan = false;
  for (const SettingsFile& file : way.settings) {
    has_plan = has_plan || file.syntax == SettingsSyntax::plan;
    auto place = std::ranges::find_if(files, [&](const auto& one) { return one.first.file == file.file; });
    if (place == files.end()) place = files.insert(files.end(), {file, {}});
    for (const auto& [fact, word] : file.implies) {
      if (!has_one_of(job, fact, {word})) continue;
      for (std::string& part : parts_said_by(fact)) said.insert(std::move(part));
    }
    for (const SettingsLine& line : file.lines) {
      require_fact(file, line);
      std::optional<Json> value = value_of(line, job);
      if (!value) continue;
      place->second.emplace_back(line.key, std::move(*value));
      if (line.fact.empty()) continue;
      for (std::string& part : parts_said_by(line.fact)) said.insert(std::move(part));
    }
  }
  for (const auto& [file, values] : files) {
    const bool is_plan = file.syntax == SettingsSyntax::plan;
    if (!is_plan && values.empty()) continue;
    settings.files.emplace_back(file.file, is_plan ? run_plan_json(job.run_plan, job.groups).dump(2) + "\n"
                                                   : settings_text(file, values));
    settings.files_for.push_back(file.text);
  }
  for (const PlanPartSaid& part : parts_to_say(job)) {
    if (!has_plan && !said.contains(part.name)) settings.unsaid.push_back(part.text);
  }
}

void add_refusals(const Trainer& trainer, const TrainerJob& job, TrainerSettings& settings) {
  const auto add_if = [&](bool holds, std::string text) {
    if (holds) settings.refusals.push_back(std::move(text));
  };
  const Strategy* const strategy = find_strategy(job.strategy);
  const std::string refusal = strategy == nullptr ? "" : trainer_refusal(&trainer, *strategy);
  add_if(!refusal.empty(), "expected " + refusal);
  const bool several = job.groups.size() > 1;
  add_if(several && trainer.pack_lengths == Variety::one && !job.packs_itself,
         fmt::format("expected one pack length, got {}", job.groups.size()));
  const bool differ = std::ranges::any_of(job.groups, [&](const PlannedGroup& group) {
    const PlannedGroup& first = job.groups.front();
    return group.sequence != first.sequence || group.gc_layers != first.gc_layers;
  });
  add_if(differ && trainer.degrees == Variety::one,
         "expected the same degrees and checkpointed layers for all packs");
  add_if(trainer.micro_batches == MicroBatchCounts::run && !job.micro_batches_per_rank && !job.packs_itself,
         "expected the same number of micro-batches in all steps");
  for (const PlanMistake& mistake : trainer_mistakes(&trainer, job.model, job.plan))
    settings.refusals.push_back(mistake.text());
}

std::string packs_text(const TrainerJob& job) {
  if (job.packs_itself)
    return fmt::format("The trainer packs by itself, as `{}` does: no schedule is read.", job.strategy);
  const std::string lists =
      "`../schedule.plan`, where it was written, lists the samples of each pack and how many micro-batches "
      "each "
      "step has. ";
  if (!feeds_rows(job))
    return lists +
           "docs/trainers.md has the line with which a trainer reads it. A trainer without such a line packs "
           "in its "
           "own way, which may make other packs.";
  if (!job.micro_batches_per_rank)
    return lists +
           "Its steps differ in their micro-batches, which a data set of packs cannot say: a loop of your "
           "own "
           "(docs/production.md) trains it.";
  return lists +
         fmt::format(
             "{} GPUs train each pack, so packs are fed as rows: `packed_dataset(plan, dataset, "
             "\"packs.parquet\", world_size={})` writes those of an epoch (docs/trainers.md, \"A data set of "
             "packs\").",
             job.plan.rank_gpus(), job.plan.dp_degree());
}

std::string heading(const Scenario& scenario, const TrainerJob& job) {
  return fmt::format(
      "# Settings\n\nThe plan for {} on {} GPUs ({} {}) with strategy `{}`, in packs of up to {} tokens.\n\n",
      scenario.model.name, grouped(job.plan.n_gpus), grouped(job.nodes), job.nodes == 1 ? "node" : "nodes",
      job.strategy, grouped(job.capacity_tokens));
}

std::string readme_of_trainer(const Scenario& scenario, const Trainer& trainer, const TrainerJob& job,
                              const TrainerSettings& settings) {
  std::string text = heading(scenario, job);
  text += fmt::format("For {} ({}), as of {}.\n\n| file | what it is |\n|---|---|\n", trainer.name,
                      settings.way, trainer.source);
  for (std::size_t i = 0; i < settings.files.size(); ++i)
    text += fmt::format("| {} | {} |\n", settings.files[i].first, settings.files_for[i]);
  text += "\n" + packs_text(job) + "\n";
  if (!settings.unsaid.empty()) text += "\nThe files do not say:\n\n";
  for (const std::string& part : settings.unsaid) text += fmt::format("- {}\n", part);
  return text + "\nTry a step before you book the cluster.\n";
}

std::string readme_of_all(const Scenario& scenario, const TrainerJob& job, const std::string& table) {
  return heading(scenario, job) +
         "Each trainer that can run this plan has a folder. To have a plan for the one that you use, name "
         "it: "
         "`--set trainer=trl` (packsim list trainers).\n\n| trainer | settings, or why it cannot run the "
         "plan "
         "|\n|---|---|\n" +
         table;
}

std::string row_of(const std::string& folder, const Trainer& trainer, const TrainerSettings& settings) {
  std::vector<std::string> files;
  for (const auto& [name, text] : settings.files) files.push_back(in_folder(folder, name));
  const std::string said =
      settings.unsaid.empty() ? "" : fmt::format("; not said: {}", fmt::join(settings.unsaid, ", "));
  return fmt::format("| {} | {} |\n", trainer.name,
                     settings.refusals.empty()
                         ? fmt::format("{} ({}){}", fmt::join(files, ", "), settings.way, said)
                         : fmt::format("{}", fmt::join(settings.refusals, "; ")));
}

}  // namespace

TrainerSettings settings_of_trainer(const Trainer& trainer, TrainerJob job) {
  job.packs_itself = trainer.is_own(job.strategy);
  TrainerSettings settings;
  add_refusals(trainer, job, settings);
  const TrainerWay* const way = way_of(trainer, job.model, job.plan);
  if (!settings.refusals.empty() || way == nullptr) return settings;
  settings.way = way->name;
  write_files(*way, job, settings);
  return settings;
}

std::vector<SettingsText> all_settings(const Scenario& scenario, const TrainerJob& job,
                                       const DataPaths& data) {
  std::vector<SettingsText> texts;
  if (scenario.trainer != nullptr) {
    TrainerJob own = job;
    own.packs_itself = scenario.trainer->is_own(job.strategy);
    TrainerSettings settings = settings_of_trainer(*scenario.trainer, own);
    texts = settings.files;
    texts.emplace_back(kReadme, readme_of_trainer(scenario, *scenario.trainer, own, settings));
    return texts;
  }
  std::string table;
  for (const std::string& name : names_of(kTrainerFiles, data)) {
    const Trainer trainer = load_trainer(name, data);
    TrainerSettings settings = settings_of_trainer(trainer, job);
    table += row_of(name, trainer, settings);
    for (auto& [file, text] : settings.files) texts.emplace_back(in_folder(name, file), std::move(text));
  }
  texts.emplace_back(kReadme, readme_of_all(scenario, job, table));
  return texts;
}

std::vector<std::string> all_settings_names(const DataPaths& data) {
  std::set<std::string> names = {kReadme};
  for (const std::string& trainer : names_of(kTrainerFiles, data)) {
    for (const TrainerWay& way : load_trainer(trainer, data).ways) {
      for (const SettingsFile& file : way.settings) {
        names.insert(file.file);
        names.insert(in_folder(trainer, file.file));
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace packsim
