#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.hpp"
#include "cli/shared/member_check.hpp"
#include "cli/shared/normaliser_option.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/progress.hpp"
#include "cli/strategy_options.hpp"
#include "experiment/plans/require_packs.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/metrics.hpp"
#include "plan_files/plan_bytes.hpp"
#include "plan_files/plan_view.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"

namespace packsim {
namespace {

struct PackArguments {
  std::string lengths;
  std::string strategy;
  std::vector<std::int64_t> capacities_tokens;
  std::vector<int> sp_degrees = {1};
  int n_gpus = 0;  // 0: the largest SP degree
  std::int64_t tokens_per_iteration = 0;
  PackRequest request;
  std::optional<std::int64_t> window_samples;  // none: the strategy's default
  GivenOptions options;
  std::string padding;  // empty: the strategy's default
  std::int64_t pad_multiple_tokens = 1;
  std::string order;  // empty: the strategy's default
  LastIteration last_iteration = LastIteration::repeat;
  std::string out;
  std::string plan;  // name of the schedule file; empty: none is written
  std::string normaliser;
  std::string loss_tokens;  // file with the number of loss tokens of each sample; empty: all but the first
  std::vector<int> gc_layers = {0};
  int epochs = 1;
  bool json = false;
  bool quiet = false;
};

struct PackOutcome {
  Packing packing;
  Schedule schedule;
  ScheduleMetrics metrics;
  PackStatistics statistics;
  double packing_s = 0;
};

PackOrder pack_order(const PackArguments& arguments, const Strategy& strategy) {
  return policy_value(kPackOrderNames, arguments.order).value_or(strategy.default_order);
}

Padding pack_padding(const PackArguments& arguments, const Strategy& strategy) {
  return policy_value(kPaddingNames, arguments.padding).value_or(strategy.default_padding());
}

// The GPUs and groups for a strategy that forms whole iterations, without prices.
BatchSetting batch_setting(const PackArguments& arguments, int n_gpus) {
  BatchSetting setting;
  setting.n_gpus = n_gpus;
  setting.tokens_per_iteration = arguments.tokens_per_iteration;
  const std::vector<int>& degrees = arguments.sp_degrees;
  for (std::size_t g = 0; g < arguments.capacities_tokens.size(); ++g)
    setting.groups.push_back({arguments.capacities_tokens[g], degrees[std::min(g, degrees.size() - 1)], {}});
  return setting;
}

// The value for one group of an option that has one value, or one for each group.
int of_group(const char* option, const std::vector<int>& values, std::size_t group, std::size_t n_groups) {
  if (values.size() == 1) return values.front();
  if (values.size() == n_groups) return values[group];
  throw std::invalid_argument(fmt::format("{}: expected one number, or one for each of {} capacities, got {}",
                                          option, n_groups, values.size()));
}

PackOutcome pack_and_measure(const PackArguments& arguments, std::span<const std::int32_t> lengths_tokens) {
  PackRequest request = arguments.request;
  request.lengths_tokens = lengths_tokens;
  request.capacities_tokens = arguments.capacities_tokens;
  const Strategy& strategy = known_strategy(arguments.strategy);
  request.window_samples = arguments.window_samples.value_or(strategy.default_window_samples);
  const int widest = *std::ranges::max_element(arguments.sp_degrees);
  const int n_gpus = arguments.n_gpus > 0 ? arguments.n_gpus : widest;
  const BatchSetting setting = batch_setting(arguments, n_gpus);
  const bool plans_batches = strategy.forms_iterations();
  if (plans_batches) request.setting = &setting;
  PackOutcome outcome;
  const Stopwatch watch;
  outcome.packing = pack(arguments.strategy, request);
  outcome.packing_s = watch.seconds();
  require_packs(outcome.packing);
  outcome.statistics = pack_statistics(outcome.packing);

  const std::size_t n_groups = outcome.packing.groups.size();
  std::vector<GroupParallelism> parallelism;
  std::vector<std::vector<MicroBatch>> batches;
  for (std::size_t g = 0; g < n_groups; ++g) {
    parallelism.push_back({.gpus_per_pack = of_group("--sp", arguments.sp_degrees, g, n_groups),
                           .gc_layers = of_group("--gc-layers", arguments.gc_layers, g, n_groups)});
    batches.push_back(micro_batches(outcome.packing, g, pack_padding(arguments, *outcome.packing.strategy),
                                    arguments.pad_multiple_tokens));
  }
  const ScheduleOptions options{.n_gpus = n_gpus,
                                .tokens_per_iteration = arguments.tokens_per_iteration,
                                .order = pack_order(arguments, *outcome.packing.strategy),
                                .last_iteration = arguments.last_iteration,
                                .epochs = arguments.epochs,
                                .seed = static_cast<std::uint32_t>(request.options[kSeed])};
  outcome.schedule = plans_batches
                         ? make_schedule(outcome.packing.planned, batches, parallelism, options)
                         : make_schedule(batches, outcome.packing.capacities_tokens, parallelism, options);
  outcome.metrics = measure(outcome.schedule, batches);
  return outcome;
}

nlohmann::ordered_json to_json(const PackArguments& arguments, const PackOutcome& outcome) {
  const PackCounts& counts = outcome.packing.counts;
  // Ratios need at least one iteration (docs/metrics.md).
  const auto ratio = [&](double value) {
    return outcome.metrics.iterations > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  return {{"format", 1},
          {"lengths", arguments.lengths},
          {"strategy", arguments.strategy},
          {"capacities_tokens", outcome.packing.capacities_tokens},
          {"seed", arguments.request.options[kSeed]},
          {"n_samples", counts.n_samples},
          {"n_tokens", counts.n_tokens},
          {"packs", outcome.statistics.n_packs},
          {"samples_per_pack", outcome.statistics.samples_per_pack},
          {"tokens_per_pack", outcome.statistics.tokens_per_pack},
          {"fill_fraction", outcome.statistics.fill_fraction},
          {"n_gpus", outcome.schedule.n_gpus},
          {"iterations", outcome.metrics.iterations},
          {"abr", ratio(outcome.metrics.abr)},
          {"abr_slots", ratio(outcome.metrics.abr_slots)},
          {"abr_weighted", ratio(outcome.metrics.abr_weighted)},
          {"balanced_fraction", ratio(outcome.metrics.balanced_fraction)},
          {"cr", ratio(outcome.metrics.cr)},
          {"dbr", ratio(outcome.metrics.dbr)},
          {"pr", ratio(outcome.metrics.pr)},
          {"ave_t_tokens", ratio(outcome.metrics.ave_t_tokens)},
          {"dropped_samples", counts.dropped_samples},
          {"dropped_tokens", counts.dropped_tokens + outcome.schedule.dropped_tokens},
          {"empty_samples", counts.empty_samples},
          {"truncated_samples", counts.truncated_samples},
          {"truncated_tokens", counts.truncated_tokens},
          {"split_samples", counts.split_samples},
          {"own_pack_samples", counts.own_pack_samples},
          {"repeated_tokens", outcome.schedule.repeated_tokens},
          {"padded_tokens", outcome.metrics.padded_tokens},
          {"timings", {{"packing_s", outcome.packing_s}}}};
}

void print_table(const PackArguments& arguments, const PackOutcome& outcome) {
  const PackCounts& counts = outcome.packing.counts;
  const auto row = [](const char* name, const std::string& value, const char* meaning) {
    print_out("  {:<18} {:>14}  {}\n", name, value, meaning);
  };
  const auto ratio = [&](double value, int n_digits) {
    return outcome.metrics.iterations > 0 ? fmt::format("{:.{}f}", value, n_digits) : "-";
  };
  print_out("{}: {} samples, {} tokens, packed by {} in {:.3f} s\n", arguments.lengths, counts.n_samples,
            counts.n_tokens, arguments.strategy, outcome.packing_s);
  row("packs", fmt::format("{}", outcome.statistics.n_packs), "");
  const double fill = outcome.statistics.fill_fraction;
  row("fill", std::isnan(fill) ? "-" : fmt::format("{:.4f}", fill),
      "tokens over pack length; - for batches of rows");
  row("samples a pack", fmt::format("{:.1f}", outcome.statistics.samples_per_pack), "");
  row("iterations", fmt::format("{}", outcome.metrics.iterations),
      fmt::format("on {} GPU{}", outcome.schedule.n_gpus, outcome.schedule.n_gpus == 1 ? "" : "s").c_str());
  row("ABR", ratio(outcome.metrics.abr, 4), "attention imbalance over DP ranks, mean of iterations");
  row("ABR slots", ratio(outcome.metrics.abr_slots, 4), "the same over slots of the largest SP degree");
  row("CR", ratio(outcome.metrics.cr, 4), "share of tokens with SP above 1");
  row("DBR", ratio(outcome.metrics.dbr, 4), "token imbalance over DP ranks, mean of iterations");
  row("PR", ratio(outcome.metrics.pr, 4), "share of padding among computed tokens");
  row("Ave-T", ratio(outcome.metrics.ave_t_tokens, 0), "tokens of a DP rank in an iteration");
  row("dropped tokens", fmt::format("{}", counts.dropped_tokens + outcome.schedule.dropped_tokens),
      fmt::format("{} over-long samples, {} packs of last iterations; {} empty samples left out",
                  counts.dropped_samples, outcome.schedule.dropped_packs, counts.empty_samples)
          .c_str());
  row("truncated tokens", fmt::format("{}", counts.truncated_tokens),
      fmt::format("of {} samples", counts.truncated_samples).c_str());
  row("split samples", fmt::format("{}", counts.split_samples), "");
  row("own-pack samples", fmt::format("{}", counts.own_pack_samples), "");
  row("repeated tokens", fmt::format("{}", outcome.schedule.repeated_tokens), "to fill last iterations");
  row("padded tokens", fmt::format("{}", outcome.metrics.padded_tokens), "");
}

std::string packs_csv(const Packing& packing) {
  fmt::memory_buffer csv;
  fmt::format_to(std::back_inserter(csv), "group,pack,sample,start_token,tokens\n");
  for (std::size_t g = 0; g < packing.groups.size(); ++g) {
    for (std::size_t p = 0; p < packing.groups[g].n_packs(); ++p) {
      for (const ItemIndex item : packing.groups[g][p]) {
        const Piece piece = packing.piece(item);
        fmt::format_to(std::back_inserter(csv), "{},{},{},{},{}\n", g, p, piece.sample_index,
                       piece.start_token, piece.n_tokens);
      }
    }
  }
  return fmt::to_string(csv);
}

// Loss tokens are counted for whole samples, so they say nothing about the pieces of a sample that was cut.
std::vector<std::int32_t> read_loss_tokens(const PackArguments& arguments, const Packing& packing) {
  if (arguments.loss_tokens.empty()) return {};
  if (!packing.pieces.empty()) {
    throw std::invalid_argument(
        "--loss-tokens: expected samples that are not cut (--over-long error or drop), because the file does "
        "not say which tokens of a sample have loss; got a packing by " +
        arguments.strategy + " that cuts some");
  }
  return read_lengths(arguments.loss_tokens);
}

void write_plan(const PackArguments& arguments, const PackOutcome& outcome,
                std::span<const std::int32_t> lengths_tokens, const CommandContext& context) {
  const OptionValues& options = arguments.request.options;
  PlanFacts facts;
  facts.version = context.version;
  facts.normaliser = arguments.normaliser;
  facts.lengths_hash = hash_of_lengths(lengths_tokens);
  facts.seed = static_cast<std::uint32_t>(options[kSeed]);
  facts.shuffle = options[kShuffle];
  facts.tokens_per_iteration = arguments.tokens_per_iteration;
  facts.over_long = arguments.request.over_long;
  facts.empty = arguments.request.empty;
  facts.padding = pack_padding(arguments, *outcome.packing.strategy);
  facts.pad_multiple_tokens = arguments.pad_multiple_tokens;
  facts.order = pack_order(arguments, *outcome.packing.strategy);
  facts.last_iteration = arguments.last_iteration;
  const std::vector<std::int32_t> loss_tokens = read_loss_tokens(arguments, outcome.packing);
  const auto bytes = plan_bytes({.packing = outcome.packing,
                                 .schedule = outcome.schedule,
                                 .sequence = {},
                                 .loss_tokens = loss_tokens,
                                 .facts = facts});
  context.outputs.write(arguments.plan, bytes);
}

void expect_outputs(const PackArguments& arguments, const Outputs& outputs) {
  std::vector<std::string> names;
  if (!arguments.out.empty()) names = {"packs.csv", "packs.json"};
  outputs.expect({arguments.plan}, arguments.out, names);
}

void run_pack(const PackArguments& arguments, const CommandContext& context) {
  Progress progress(arguments.quiet);
  progress.say("reading lengths");
  const std::vector<std::int32_t> lengths_tokens = read_lengths(arguments.lengths);
  expect_outputs(arguments, context.outputs);
  progress.say("packing");
  const PackOutcome outcome = pack_and_measure(arguments, lengths_tokens);
  // File names may hold bytes that are not UTF-8; JSON may not.
  const std::string summary =
      to_json(arguments, outcome).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
      "\n";
  if (!arguments.out.empty()) {
    context.outputs.write(arguments.out,
                          {{"packs.csv", packs_csv(outcome.packing)}, {"packs.json", summary}});
  }
  if (!arguments.plan.empty()) {
    progress.say("writing " + arguments.plan);
    write_plan(arguments, outcome, lengths_tokens, context);
  }
  if (arguments.json) {
    print_exact(summary);
  } else if (!arguments.quiet) {
    print_table(arguments, outcome);
    if (!arguments.plan.empty()) print_out("Plan: {}\n", arguments.plan);
    if (!arguments.out.empty()) print_out("Packs: {0}/packs.csv, {0}/packs.json\n", arguments.out);
  }
}

// An option that the strategy does not read is reported as a mistake, never ignored.
OptionValues given_options(const PackArguments& arguments) {
  const Strategy& strategy = known_strategy(arguments.strategy);
  const OptionValues options = values_of(arguments.options, strategy);
  if (strategy.needs_prices) {
    throw std::invalid_argument(fmt::format(
        "--strategy: expected one that needs no prices, got {}; use packsim run, which has the prices of a "
        "scenario's model and cluster",
        strategy.name));
  }
  return options;
}

void check_padding(const CLI::App& command, const PackArguments& arguments) {
  const bool multiple = arguments.padding == policy_name(kPaddingNames, Padding::multiple);
  if (multiple != (command.count("--pad-multiple") > 0)) {
    throw std::invalid_argument("--pad-multiple: expected with --padding multiple, and only with it");
  }
}

template <typename Enum, std::size_t N>
void add_policy(CLI::App& command, const std::string& option, Enum& value,
                const std::array<PolicyName<Enum>, N>& names, const std::string& what) {
  std::string help = what + ":";
  for (const PolicyName<Enum>& row : names) help += fmt::format("\n  {}: {}", row.name, row.summary);
  command
      .add_option_function<std::string>(
          option,
          [&value, &names](const std::string& given) { value = policy_value(names, given).value_or(value); },
          help)
      ->check(member_check(names_in(names)))
      ->default_str(std::string(policy_name(names, value)));
}

}  // namespace

void add_pack_command(CLI::App& app, const CommandContext& context) {
  auto a = std::make_shared<PackArguments>();
  CLI::App* command = app.add_subcommand("pack", "Pack a file of lengths; no model or cluster needed");
  command->add_option("lengths", a->lengths, "CSV, JSONL, NPY or histogram JSON")->required();
  command->add_option("--strategy", a->strategy, "See packsim list strategies")
      ->check(member_check(names_in(strategies())))
      ->required();
  command
      ->add_option("--capacity", a->capacities_tokens,
                   "Pack length in tokens; strategies with several groups take several, in ascending order")
      ->delimiter(',')
      ->transform(token_check(1, kLongestCapacityTokens))
      ->required();
  command->add_option("--gpus", a->n_gpus, "GPUs that train the packs (default: the largest SP degree)")
      ->check(CLI::Range(1, kMostGpus));
  command->add_option("--sp", a->sp_degrees, "SP degree: one value, or one per capacity")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 16));
  command
      ->add_option("--tokens-per-iteration", a->tokens_per_iteration,
                   "Tokens of one iteration over all GPUs (default: one pack per rank)")
      ->transform(token_check(0, kMostTokensPerIteration));
  add_policy(*command, "--over-long", a->request.over_long, kOverLongNames,
             "Samples over the longest capacity");
  add_policy(*command, "--empty", a->request.empty, kEmptyNames, "Samples without tokens");
  command->add_option("--padding", a->padding, "How rows are padded (default: the strategy's own)")
      ->check(member_check(names_in(kPaddingNames)));
  command->add_option("--pad-multiple", a->pad_multiple_tokens, "Multiple for --padding multiple")
      ->transform(token_check(1, kLongestCapacityTokens));
  command->add_option("--order", a->order, "How packs become iterations (default: the strategy's own)")
      ->check(member_check(names_in(kPackOrderNames)));
  add_policy(*command, "--last-iteration", a->last_iteration, kLastIterationNames,
             "What to do with packs that do not fill an iteration");
  command
      ->add_option("--window", a->window_samples,
                   "Pack this many samples at a time; 0: the whole data set (default: the strategy's own)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 32));
  add_strategy_options(*command, a->options);
  command->add_option("--out", a->out, "Folder for packs.csv and packs.json");
  CLI::Option* plan =
      command->add_option("--plan", a->plan, "File to write the whole schedule to, for a trainer");
  add_normaliser_option(*command, a->normaliser)->needs(plan);
  command
      ->add_option("--loss-tokens", a->loss_tokens,
                   "File with the number of loss tokens of each sample (default: all tokens but the first)")
      ->needs(plan);
  command->add_option("--gc-layers", a->gc_layers, "Checkpointed layers: one value, or one per capacity")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 16))
      ->needs(plan);
  command->add_option("--epochs", a->epochs, "Epochs of the schedule")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  context.outputs.add_force_option(*command);
  command->add_flag("--json", a->json, "Print packs.json on stdout instead of the table");
  command->add_flag("--quiet", a->quiet, "Print nothing but errors, and the JSON with --json");
  command->callback([a, command, context] {
    check_padding(*command, *a);
    a->request.options = given_options(*a);
    run_pack(*a, context);
  });
}

}  // namespace packsim
