#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/calibrate/commands.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scenario_argument.hpp"
#include "experiment/plans/check_strategies.hpp"
#include "experiment/search/find_plan.hpp"
#include "models/coverage/coverage.hpp"
#include "models/coverage/measurement_list.hpp"
#include "models/coverage/schedule_kernels.hpp"
#include "models/kernels/gemm_shapes.hpp"
#include "models/kernels/narrow_gemm_time.hpp"
#include "models/kernels/transfer_profile.hpp"
#include "reports/text/numbers.hpp"
#include "reports/text/text_table.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"

namespace packsim {
namespace {

using formats_detail::percent;

struct CoverageArguments {
  ScenarioArgument scenario;
  std::string profile;
  std::string strategy;
  std::string plan;
  int listed = 12;
  bool interpolated = false;
  bool json = false;
};

// The mean GPU's kernels over the run of a strategy.
std::vector<KernelUse> strategy_kernels(const Scenario& scenario, const PlannedStrategy& plan) {
  std::vector<std::unique_ptr<StepPricer>> pricers;
  std::vector<StepPricer*> of_groups;
  for (const ParallelPlan& group : plan.plans) {
    pricers.push_back(std::make_unique<StepPricer>(scenario.model, scenario.cluster, group, scenario.hardware,
                                                   scenario.profile.factors));
    pricers.back()->keep_kernels();
    of_groups.push_back(pricers.back().get());
  }
  return schedule_kernels(of_groups, plan.packing, plan.batches, plan.uses);
}

// The same of each strategy, added up.
std::vector<KernelUse> scenario_kernels(const Scenario& scenario, const std::string& only_strategy) {
  Progress progress(false);
  progress.say("reading lengths");
  const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
  check_strategies(scenario, drawn.lengths_tokens);
  SharedPrices prices(scenario);
  KernelUses uses;
  bool found = false;
  std::vector<std::string> names;
  for (const StrategySpec& spec : scenario.strategies) {
    names.push_back(spec.name);
    if (!only_strategy.empty() && spec.name != only_strategy) continue;
    found = true;
    progress.say(spec.name + (spec.searches_plan ? ": searching a plan" : ": packing"));
    const FoundPlan found_plan = find_plan(scenario, spec, drawn.lengths_tokens, prices);
    for (const KernelUse& use : strategy_kernels(scenario, found_plan.plan))
      uses.add(use.kernel, use.count, use.part);
  }
  if (!found) {
    throw std::invalid_argument(fmt::format("--strategy: expected a strategy of {}, {}, got \"{}\"",
                                            scenario.path, expected_one_of(only_strategy, names),
                                            only_strategy));
  }
  return uses.all();
}

nlohmann::ordered_json by_evidence(const std::array<double, kNEvidenceLevels>& fractions) {
  nlohmann::ordered_json json;
  for (int s = 0; s < kNEvidenceLevels; ++s) {
    json[std::string(evidence_name(static_cast<Evidence>(s)))] = fractions[static_cast<std::size_t>(s)];
  }
  return json;
}

std::string to_json(const Coverage& covered) {
  nlohmann::ordered_json families = nlohmann::ordered_json::array();
  for (const FamilyCoverage& family : covered.families) {
    families.push_back({{"family", family.family},
                        {"time_fraction", family.fraction},
                        {"relative_error", family.relative_error},
                        {"time_fraction_by_standing", by_evidence(family.fraction_by_evidence)}});
  }
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const CoveredUse& use : covered.uses) {
    kernels.push_back({{"case", use.use.kernel.text()},
                       {"part", use.use.part},
                       {"count", use.use.count},
                       {"time_fraction", use.fraction},
                       {"standing", evidence_name(use.time.evidence)},
                       {"relative_error", use.time.relative_error},
                       {"basis", use.time.basis}});
  }
  const nlohmann::ordered_json json = {
      {"time_fraction_by_standing", by_evidence(covered.fraction_by_evidence)},
      {"relative_error", covered.relative_error},
      {"families", families},
      {"kernels", kernels}};
  return json.dump(1);
}

void print_coverage(const Coverage& covered) {
  std::vector<std::vector<std::string>> table = {{"kernel", "share of time", "measured", "interpolated",
                                                  "extrapolated", "transferred", "missing", "error"}};
  const auto row = [&](const std::string& name, double fraction,
                       const std::array<double, kNEvidenceLevels>& fractions, double relative_error) {
    std::vector<std::string> cells = {name, percent(fraction)};
    for (const double part : fractions) cells.push_back(part > 0 ? percent(part) : "");
    const bool known = fraction > fractions[static_cast<std::size_t>(Evidence::missing)];
    cells.push_back(known ? "+-" + percent(relative_error) : "-");
    table.push_back(cells);
  };
  for (const FamilyCoverage& family : covered.families) {
    row(family.family, family.fraction, family.fraction_by_evidence, family.relative_error);
  }
  row("all", 1, covered.fraction_by_evidence, covered.relative_error);
  print_out("{}", formats_detail::text_table(table));
  print_out(
      "Shares are of the kernels' time, one after another; what is missing is guessed. Error: one standard "
      "deviation, without what is missing.\n");
}

void print_unmeasured(const std::vector<UnmeasuredCase>& cases, const Coverage& covered, int listed) {
  if (cases.empty()) return;
  std::vector<std::vector<std::string>> table = {{"not measured", "share of time", ""}};
  const auto n_listed = std::min(cases.size(), static_cast<std::size_t>(listed));
  for (std::size_t i = 0; i < n_listed; ++i) {
    table.push_back(
        {cases[i].kernel.text(), percent(cases[i].fraction), std::string(evidence_name(cases[i].evidence))});
  }
  print_out("\n{}", formats_detail::text_table(table));
  if (cases.size() > n_listed) print_out("and {} more\n", cases.size() - n_listed);
  // Why, once a reason.
  std::vector<std::string> reasons;
  for (const CoveredUse& use : covered.uses) {
    if (use.time.evidence != Evidence::missing) continue;
    if (std::ranges::find(reasons, use.time.basis) == reasons.end()) reasons.push_back(use.time.basis);
  }
  for (const std::string& reason : reasons) print_out("missing: {}\n", reason);
}

void cover(const CoverageArguments& arguments, const CommandContext& context) {
  const DataPaths data{.root = context.data_root};
  const Scenario scenario = load_scenario(arguments.scenario, context);
  const HardwareProfile profile =
      profile_on(load_hardware_profile(arguments.profile, data), scenario.cluster);
  context.outputs.expect({arguments.plan});
  const std::vector<KernelUse> uses = scenario_kernels(scenario, arguments.strategy);
  GemmShapes shapes(profile);
  const Coverage covered = coverage(
      [&](const KernelCase& kernel) {
        return known_kernel_time(profile, scenario.cluster.gpu, kernel, shapes);
      },
      uses);
  const std::vector<UnmeasuredCase> unmeasured =
      unmeasured_cases(covered, arguments.interpolated ? Evidence::interpolated : Evidence::extrapolated);
  if (arguments.json) {
    print_exact(to_json(covered) + "\n");
  } else {
    print_out("{} on {}: what {} knows of it\n\n", scenario.name, scenario.cluster.name, profile.name);
    print_coverage(covered);
    print_unmeasured(unmeasured, covered, arguments.listed);
  }
  if (!arguments.plan.empty()) {
    std::vector<KernelCase> cases;
    for (const UnmeasuredCase& row : unmeasured) cases.push_back(row.kernel);
    context.outputs.write(
        arguments.plan,
        measurement_list_text(
            cases, fmt::format("What {} does not have of {}, the largest share of time first.", profile.name,
                               scenario.name)));
  }
  if (arguments.json) return;
  if (unmeasured.empty()) {
    print_out("\nNothing is left to measure.\n");
  } else if (arguments.plan.empty()) {
    print_out(
        "\nTo measure them, on that machine:\n  packsim calibrate coverage {} {}{}{} --plan missing.txt\n"
        "  packsim calibrate run --plan missing.txt --out missing.jsonl\n",
        arguments.scenario.path, arguments.profile,
        arguments.strategy.empty() ? "" : " --strategy " + arguments.strategy,
        arguments.interpolated ? " --interpolated" : "");
  } else {
    print_out(
        "\nWrote {} cases to {}. To measure them, on that machine:\n"
        "  packsim calibrate run --plan {} --out missing.jsonl\n",
        unmeasured.size(), arguments.plan, arguments.plan);
  }
}

}  // namespace

void add_calibrate_coverage_command(CLI::App& calibrate, const CommandContext& context) {
  CLI::App* command = calibrate.add_subcommand(
      "coverage", "Which kernels of a scenario a hardware profile has measured, and which it has to guess");
  auto arguments = std::make_shared<CoverageArguments>();
  add_scenario_argument(*command, arguments->scenario);
  command->add_option("profile", arguments->profile, "Hardware profile, by name or path")->required();
  command->add_option("--strategy", arguments->strategy, "Of this strategy alone; else of all together");
  command->add_option("--plan", arguments->plan, "Write the cases that would have to be measured");
  command->add_flag("--interpolated", arguments->interpolated, "List and plan what is interpolated, too");
  command->add_option("--list", arguments->listed, "Unmeasured cases to print")->check(CLI::Range(0, 100000));
  context.outputs.add_force_option(*command);
  command->add_flag("--json", arguments->json, "Print JSON, every kernel with its basis");
  command->callback([arguments, context] { cover(*arguments, context); });
}

}  // namespace packsim
