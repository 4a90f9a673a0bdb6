#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/calibrate/commands.hpp"
#include "cli/calibrate/make_plan.hpp"
#include "cli/shared/print.hpp"
#include "models/coverage/measurement_list.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {
namespace {

// Each once.
std::vector<Transformer> models_of_scenarios(const DataPaths& data) {
  std::set<std::string> names;
  Problems problems;
  for (const std::string& scenario : names_of(kScenarioFiles, data)) {
    const JsonDocument document =
        read_json(path_of(kScenarioFiles, scenario, data), problems, Comments::allowed);
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    names.insert(reader.string("model"));
  }
  problems.throw_if_any();
  std::vector<Transformer> models;
  for (const std::string& name : names) models.push_back(load_model(name, data));
  return models;
}

// The real mixtures that plans draw packs from.
std::vector<LengthSet> shipped_length_sets(const DataPaths& data) {
  std::vector<LengthSet> sets;
  for (const char* name : {"mixture_real_short", "mixture_real_long_2k"})
    sets.push_back({name, read_lengths(fmt::format("{}/scenarios/lengths/{}.csv", data.root, name))});
  return sets;
}

std::string describe_plan(const MeasurementList& plan) {
  std::string text = fmt::format("{} cases, about {:.0f} s on one GPU", plan.cases.size(), plan.one_gpu_s);
  if (plan.collectives_s > 0) text += fmt::format(" and {:.0f} s on several", plan.collectives_s);
  if (plan.over_budget > 0) text += fmt::format("; {} left out to keep to the time", plan.over_budget);
  if (plan.over_memory > 0) text += fmt::format("; {} left out as they do not fit", plan.over_memory);
  return text;
}

}  // namespace

std::string make_plan_text(const MeasurementListRequest& request, const DataPaths& data,
                           std::string* description) {
  const bool of_scenarios = request.models.empty();
  std::vector<Transformer> models = of_scenarios ? models_of_scenarios(data) : std::vector<Transformer>();
  std::set<std::string> seen;
  for (const std::string& name : request.models) {
    if (seen.insert(name).second) models.push_back(load_model(name, data));
  }
  MeasurementListOptions options;
  options.size = request.quick ? MeasurementListSize::quick : MeasurementListSize::full;
  options.n_gpus = request.n_gpus;
  options.gpus_per_node = std::min(request.gpus_per_node, request.n_gpus);
  options.gpu_memory_bytes = request.gpu_memory_gb * 1e9;
  options.length_sets = shipped_length_sets(data);
  const MeasurementList plan = measurement_list(models, options);
  if (description != nullptr) *description = describe_plan(plan);
  return measurement_list_text(
      plan, fmt::format("What to measure for {}, size {}, on up to {} GPU{}, {} a node.",
                        of_scenarios ? "the models of the shipped scenarios" : join(names_in(models)),
                        request.quick ? "quick" : "full", request.n_gpus, request.n_gpus == 1 ? "" : "s",
                        options.gpus_per_node));
}

void add_plan_options(CLI::App& command, MeasurementListRequest& request) {
  command.add_option("--model", request.models,
                     "Shipped model, model file or Hugging Face config.json; again for more; default: the "
                     "models of the shipped scenarios");
  command.add_flag("--quick", request.quick, "Under 3 minutes on one GPU; else under 25");
  command.add_option("--gpus", request.n_gpus, "GPUs that collectives are measured over, in all")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command.add_option("--gpus-per-node", request.gpus_per_node)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--gpu-memory-gb", request.gpu_memory_gb, "Cases that need more are left out")
      ->check(CLI::Range(1.0, 100000.0))
      ->check([](const std::string& text) {  // which a range lets through
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? "expected a number, got " + text : "";
      })
      ->capture_default_str();
}

void add_calibrate_plan_command(CLI::App& calibrate, const CommandContext& context) {
  CLI::App* command = calibrate.add_subcommand("plan", "List what to measure for some models, a case a line");
  auto request = std::make_shared<MeasurementListRequest>();
  auto out = std::make_shared<std::string>();
  add_plan_options(*command, *request);
  command->add_option("--out", *out, "File to write; else the plan is printed");
  context.outputs.add_force_option(*command);
  command->callback([request, out, context] {
    context.outputs.expect({*out});
    std::string description;
    const std::string text = make_plan_text(*request, {.root = context.data_root}, &description);
    if (out->empty()) {
      print_exact(text);
      return;
    }
    context.outputs.write(*out, text);
    print_out("Wrote {}: {}\n", *out, description);
  });
}

}  // namespace packsim
