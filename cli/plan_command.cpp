#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/shared/bus_error_guard.hpp"
#include "cli/shared/print.hpp"
#include "experiment/costs/loss_biases.hpp"
#include "plan_files/restore_plan.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

using formats_detail::counted;
using nlohmann::ordered_json;

std::int64_t iterations_of_group(const Schedule& schedule, std::size_t group) {
  std::int64_t n = 0;
  for (const Iteration& iteration : schedule.iterations) {
    for (const PlacedPack& placed : schedule.packs(iteration)) {
      if (placed.group != group) continue;
      ++n;
      break;
    }
  }
  return n;
}

void print_plan(const std::string& path, const PlanView& plan, const RestoredPlan& restored) {
  const PlanFacts& facts = plan->facts;
  print_out("{}: {} on {}, {} in {}, {} of {}\n", path, facts.name, counted(facts.n_gpus, "GPU"),
            counted(static_cast<std::int64_t>(plan->iterations.size()), "iteration"),
            counted(facts.epochs, "epoch"), counted(facts.counts.n_samples, "sample"),
            counted(facts.counts.n_tokens, "token"));
  print_out("  made by packsim {}{}; lengths {}\n", facts.version,
            facts.scenario.empty() ? "" : " from scenario " + facts.scenario, facts.lengths_hash);
  if (facts.tp_degree * facts.pp_degree > 1) {
    print_out("  each GPU of the plan stands for {}: tensor parallelism over {}, pipelines of {} stages\n",
              facts.tp_degree * facts.pp_degree, facts.tp_degree, facts.pp_degree);
  }
  print_out("\n  {:>12} {:>4} {:>4} {:>10} {:>10} {:>11}\n", "pack tokens", "SP", "ring", "recomputed",
            "packs", "iterations");
  for (std::size_t g = 0; g < plan->groups.size(); ++g) {
    const PlanGroup& group = plan->groups[g];
    print_out("  {:>12} {:>4} {:>4} {:>10} {:>10} {:>11}\n", grouped(group.capacity_tokens), group.sp_degree,
              group.cp_degree, group.gc_layers, grouped(group.n_packs),
              grouped(iterations_of_group(restored.schedule, g)));
  }
  const PackCounts& counts = facts.counts;
  print_out(
      "\n  an epoch drops {} over-long and {} empty samples, cuts {} tokens off {} samples and splits {} "
      "samples; over all epochs, last iterations leave out {} tokens and repeat {} tokens\n",
      grouped(counts.dropped_samples), grouped(counts.empty_samples), grouped(counts.truncated_tokens),
      grouped(counts.truncated_samples), grouped(counts.split_samples), grouped(facts.dropped_pack_tokens),
      grouped(facts.repeated_tokens));
  print_out("\n  loss weights in the file: {}; what each normaliser would do to this plan:\n",
            facts.normaliser);
  print_out("  {:<12} {:>16} {:>16} {:>24}\n", "normaliser", "misplaced weight", "long samples",
            "sum of weights");
  for (const LossBiasResult& bias : loss_biases(restored.packing, restored.schedule, plan->loss_tokens)) {
    print_out("  {:<12} {:>15.2f}% {:>16.3f} {:>24}\n", bias.normaliser, 100 * bias.misplaced_fraction,
              bias.long_sample_weight, fmt::format("{:.6g} to {:.6g}", bias.least_sum, bias.most_sum));
  }
  print_out(
      "  misplaced weight: the share of the loss weight on other tokens than if all loss tokens of an "
      "iteration weighed the same\n  long samples: the mean weight of a token of the longest samples (those "
      "with half of all loss tokens), relative to all tokens\n");
}

ordered_json to_json(const PlanView& plan, const RestoredPlan& restored) {
  ordered_json text = ordered_json::parse(facts_to_json(plan->facts));
  text["content_hash"] = fmt::format("{:016x}", plan.content_hash());
  text["iterations"] = plan->iterations.size();
  for (std::size_t g = 0; g < plan->groups.size(); ++g) {
    const PlanGroup& group = plan->groups[g];
    text["groups"].push_back({{"capacity_tokens", group.capacity_tokens},
                              {"sp_degree", group.sp_degree},
                              {"cp_degree", group.cp_degree},
                              {"gc_layers", group.gc_layers},
                              {"packs", group.n_packs},
                              {"iterations", iterations_of_group(restored.schedule, g)}});
  }
  for (const LossBiasResult& bias : loss_biases(restored.packing, restored.schedule, plan->loss_tokens)) {
    text["loss_bias"].push_back({{"normaliser", bias.normaliser},
                                 {"misplaced_fraction", bias.misplaced_fraction},
                                 {"long_sample_weight", bias.long_sample_weight},
                                 {"least_sum", bias.least_sum},
                                 {"most_sum", bias.most_sum}});
  }
  return text;
}

}  // namespace

void add_plan_command(CLI::App& app, const CommandContext&) {
  struct Arguments {
    std::string path;
    bool json = false;
    bool check = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("plan", "Check a schedule file and say what is in it");
  command
      ->add_option("plan", arguments->path,
                   "Schedule file, written by packsim pack --plan or packsim run --write-plan")
      ->required();
  command->add_flag("--json", arguments->json, "Print it as JSON");
  command->add_flag("--check", arguments->check, "Only check it, and print one line")->excludes("--json");
  command->callback([arguments] {
    const BusErrorGuard guard(arguments->path);
    const PlanView plan = PlanView::open(arguments->path);
    if (arguments->check) {
      plan.check();
      print_out("{}: all that the file says is true; content hash {:016x}\n", arguments->path,
                plan.content_hash());
      return;
    }
    const RestoredPlan restored = restore_plan(plan);
    if (arguments->json) {
      print_exact(to_json(plan, restored).dump(2) + "\n");
    } else {
      print_plan(arguments->path, plan, restored);
    }
  });
}

}  // namespace packsim
