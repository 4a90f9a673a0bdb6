#include "reports/tables/run_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "files/text/printable.hpp"
#include "reports/tables/time_parts.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

using namespace formats_detail;
using Run = StrategyResult;
using Values = std::vector<RunValue>;

constexpr std::string_view kSchedule = "Schedule";
constexpr std::string_view kBalance = "Balance";
constexpr std::string_view kTime = "Time";
constexpr std::string_view kUse = "Use of the GPUs";
constexpr std::string_view kCost = "Cost";
constexpr std::string_view kVariability = "Variability";
constexpr std::string_view kPlanning = "Planning";
constexpr std::string_view kMixture = "Mixture";
constexpr std::string_view kWhole = "Whole run";
constexpr std::string_view kFailures = "Failures";
constexpr std::string_view kOrder = "Order";
constexpr std::string_view kData = "Data";

// The member of an optional part of a run: nothing where the run has no such part.
template <typename Part, typename Member>
auto of(std::optional<Part> Run::*part, Member Part::*member) {
  return [=](const Run& run) { return run.*part ? Value((*(run.*part)).*member) : Value(); };
}

template <typename Value_>
Value if_there(const std::optional<Value_>& value) {
  return value ? Value(*value) : Value();
}

// Text of a value of a run that was simulated.
std::function<std::string(const Run&)> or_oom(std::function<std::string(const Run&)> text) {
  return [text = std::move(text)](const Run& run) {
    if (run.failure) return std::string("failed");
    return run.feasible ? text(run) : "OOM";
  };
}

// A number as people read it; "-" where there is none.
std::function<std::string(const Run&)> number(std::function<Value(const Run&)> value,
                                              std::string (*text)(double)) {
  return [=](const Run& run) {
    const Value found = value(run);
    const double* const is_number = std::get_if<double>(&found);
    return is_number != nullptr ? text(*is_number) : "-";
  };
}

std::string signed_percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:+.1f}%", 100 * fraction) : "-";
}

std::string whole_percent(double fraction) {
  return fmt::format("{:.0f}%", 100 * fraction);
}

std::string whole_number(double value) {
  return grouped(std::llround(value));
}

std::string times_faster(double speedup) {
  return fmt::format("{:.2f}x", speedup);
}

// A value of the times of a run, or of what depends on them.
template <typename GetValue>
RunValue timed(std::string key, GetValue value, std::string_view group, int priority, std::string_view title,
               std::string_view unit, std::string_view definition, std::string (*text)(double) = quantity) {
  return {std::move(key), value,
          Column{group, priority, title, unit, definition, or_oom(number(value, text))}};
}

RunValue ratio_of_balance(std::string key, double ScheduleMetrics::*member, int priority,
                          std::string_view title, std::string_view definition) {
  const auto value = of(&Run::balance, member);
  return {std::move(key), value, Column{kBalance, priority, title, "", definition, number(value, ratio)}};
}

RunValue count(std::string key, std::int64_t Run::*member, int priority, std::string_view title,
               std::string_view definition) {
  return {std::move(key), [=](const Run& run) { return Value(run.*member); },
          Column{kSchedule, priority, title, "", definition,
                 [=](const Run& run) { return grouped(run.*member); }}};
}

RunValue data_count(std::string key, std::int64_t DataCounts::*member) {
  return {.key = std::move(key), .value = [=](const Run& run) { return Value(run.counts.*member); }};
}

RunValue data_tokens(std::string key, std::int64_t DataCounts::*member, int priority, std::string_view title,
                     std::string_view definition) {
  RunValue row = data_count(std::move(key), member);
  row.column = Column{kData,    priority,   title,
                      "tokens", definition, [=](const Run& run) { return token_count(run.counts.*member); }};
  return row;
}

Values names() {
  const auto text = [](auto get) { return [=](const Run& run) { return Value(std::string(get(run))); }; };
  return {
      {"name", text([](const Run& run) { return run.name; })},
      {"strategy", text([](const Run& run) { return run.strategy; })},
      {"order", text([](const Run& run) { return policy_name(kPackOrderNames, run.policies.order); })},
      {"last_iteration",
       text([](const Run& run) { return policy_name(kLastIterationNames, run.policies.last_iteration); })},
      {"padding", text([](const Run& run) { return policy_name(kPaddingNames, run.policies.padding); })},
      {"over_long", text([](const Run& run) { return policy_name(kOverLongNames, run.policies.over_long); })},
      {"attention",
       text([](const Run& run) { return policy_name(kAttentionNames, run.policies.attention); })},
      {"feasible", [](const Run& run) { return Value(run.feasible); }},
      {"failure", [](const Run& run) { return if_there(run.failure); }},
      {"differences",
       [](const Run& run) {
         return run.differences.empty() ? Value()
                                        : Value(fmt::format("{}", fmt::join(run.differences, "; ")));
       }},
      {"overlaps_states", [](const Run& run) { return Value(run.overlaps_states); }},
  };
}

Values schedule_and_balance() {
  const auto ave_t = of(&Run::balance, &ScheduleMetrics::ave_t_tokens);
  return {
      count("packs", &Run::packs, 24, "packs",
            "Packs of one epoch, over all groups; of all epochs where each is packed anew."),
      count("iterations", &Run::iterations, 23, "iterations", "Optimizer steps over all epochs."),
      {"ave_t_tokens", ave_t,
       Column{kSchedule, 31, "Ave-T", "tokens",
              "Mean tokens of a DP rank in an iteration, all its micro-batches together, without padding.",
              number(ave_t, whole_number)}},
      ratio_of_balance(
          "abr", &ScheduleMetrics::abr, 13, "ABR",
          "Attention balance ratio: the share of attention time in which DP ranks wait for the busiest one, "
          "sum(max - work) / (ranks x max), computed for each iteration and averaged over iterations. 0 is "
          "balanced. Work is that of the data, without padding."),
      ratio_of_balance(
          "abr_slots", &ScheduleMetrics::abr_slots, 28, "ABR slots",
          "ABR over slots of as many GPUs as the run's widest packs take, instead of over DP ranks. The work "
          "inside a slot is added up. Mean over iterations."),
      {"abr_weighted", of(&Run::balance, &ScheduleMetrics::abr_weighted)},
      {"balanced_fraction", of(&Run::balance, &ScheduleMetrics::balanced_fraction)},
      ratio_of_balance("dbr", &ScheduleMetrics::dbr, 29, "DBR",
                       "Distance balance ratio: ABR with tokens in place of attention work, over DP ranks, "
                       "mean over iterations."),
      ratio_of_balance("cr", &ScheduleMetrics::cr, 14, "CR",
                       "Communication ratio: the share of trained tokens in packs that several GPUs share, "
                       "which pay for all-to-all."),
      ratio_of_balance("pr", &ScheduleMetrics::pr, 30, "PR",
                       "Padding ratio: padding tokens over all computed tokens of the whole run."),
  };
}

double half_width(double low, double high) {
  return std::sqrt(high / low) - 1;
}

Values times() {
  const auto interval = [](const Run& run) {
    const bool is_known = run.times && run.times->gpu_days_low > 0;
    return is_known ? Value(half_width(run.times->gpu_days_low, run.times->gpu_days_high)) : Value();
  };
  const auto not_measured = [](const Run& run) {
    if (!run.times) return Value();
    const EvidenceShares& evidence = run.times->evidence;
    return Value(evidence.extrapolated + evidence.transferred + evidence.missing);
  };
  return {
      timed("step_mean_s", of(&Run::times, &RunTimes::step_mean_s), kTime, 15, "step", "s",
            "Simulated time of an optimizer step, mean over iterations."),
      timed("step_p99_s", of(&Run::times, &RunTimes::step_p99_s), kTime, 45, "p99", "s",
            "The step time that 99% of the iterations do not exceed."),
      timed("gpu_days", of(&Run::times, &RunTimes::gpu_days), kTime, 1, "GPU-days", "",
            "Wall time of the whole run, with what the scenario says beside its steps, times the number of "
            "GPUs."),
      {"gpu_days_low", of(&Run::times, &RunTimes::gpu_days_low)},
      {"gpu_days_high", of(&Run::times, &RunTimes::gpu_days_high)},
      {.column =
           Column{
               kTime, 2, "90%", "",
               "How wide the interval is that is meant to hold nine of ten true GPU-days: at 20% it goes "
               "from GPU-days / 1.2 to GPU-days x 1.2. docs/accuracy.md says how often it did. It follows "
               "from how well the framework profile and the kernel prices are known. The runs of one report "
               "share a part of their errors, so their ratio has an interval of its own.",
               or_oom(number(interval, whole_percent))}},
      {"largest_uncertainty",
       [](const Run& run) { return run.times ? if_there(run.times->largest_uncertainty) : Value(); }},
      {.column = Column{kTime, 17, "extrap.", "",
                        "The share of the time of computation and exposed communication whose prices are "
                        "extrapolated from measurements, scaled from another GPU or other links, or guessed "
                        "because nothing was measured.",
                        or_oom(number(not_measured, whole_percent))}},
      timed("wall_hours", of(&Run::times, &RunTimes::wall_hours), kTime, 6, "wall", "h",
            "Simulated time of the whole run, all epochs."),
  };
}

// A value of how a run uses its GPUs.
template <typename Member>
auto used(Member Utilisation::*member) {
  return [=](const Run& run) {
    if (!run.times) return Value();
    const auto& value = run.times->utilisation.*member;
    if constexpr (std::is_same_v<Member, double>) {
      return Value(value);
    } else {
      return if_there(value);
    }
  };
}

std::string tera(double value) {
  return quantity(1e-12 * value);
}

Values use() {
  return {
      timed("tokens_per_s_per_gpu", used(&Utilisation::tokens_per_s_per_gpu), kUse, 22, "tokens/s", "a GPU",
            "Tokens that each GPU trains in a second, without padding.", whole_number),
      timed("samples_per_s", used(&Utilisation::samples_per_s), kUse, 36, "samples/s", "all GPUs",
            "Samples that all GPUs together train in a second."),
      timed("model_flop_per_s_per_gpu", used(&Utilisation::model_flop_per_s_per_gpu), kUse, 37, "TFLOP/s",
            "a GPU",
            "Flop of the model that each GPU computes in a second: forward and backward passes over the "
            "tokens and causal attention in each sample, without recomputation and padding.",
            tera),
      timed("mfu_fraction", used(&Utilisation::mfu_fraction), kUse, 12, "MFU", "",
            "Model flop utilisation: these flop over the peak of the GPU's dense bf16 products.", percent),
      timed("hfu_fraction", used(&Utilisation::hfu_fraction), kUse, 38, "HFU", "",
            "Hardware flop utilisation: MFU with the flop of recomputation and padding.", percent),
  };
}

// A value of what a run costs.
template <typename Member>
auto costs(Member RunCost::*member) {
  return [=](const Run& run) {
    if (!run.cost) return Value();
    if constexpr (std::is_same_v<Member, double>) {
      return Value((*run.cost).*member);
    } else {
      return if_there((*run.cost).*member);
    }
  };
}

Values cost() {
  const auto interval_text = [](const Run& run) {
    if (!run.cost || run.cost->money_low.value_or(0) <= 0) return std::string("-");
    return quantity(*run.cost->money_low) + " to " + quantity(*run.cost->money_high);
  };
  return {
      timed("gpu_hours", costs(&RunCost::gpu_hours), kCost, 39, "GPU-hours", "",
            "Wall time of the whole run, with what the scenario says beside its steps, times the number of "
            "GPUs."),
      timed("cost", costs(&RunCost::money), kCost, 7, "cost", "",
            "GPU-hours times the scenario's gpu_hour_price, in the currency of that price."),
      {"cost_low", costs(&RunCost::money_low),
       Column{kCost, 25, "90% interval", "",
              "The interval that is meant to hold nine of ten true costs, from that of the GPU-days.",
              or_oom(interval_text)}},
      {"cost_high", costs(&RunCost::money_high)},
      timed("cost_with_failures", costs(&RunCost::money_with_failures), kCost, 40, "cost + failures", "",
            "The same price for the expected GPU-days with failures, spare units included."),
      timed("energy_kwh", costs(&RunCost::energy_kwh), kCost, 41, "energy", "kWh",
            "GPU-hours at the GPU's board power, which is the most that GPUs draw; hosts, network and "
            "cooling come on top."),
  };
}

Values comparisons() {
  const auto speedup_interval = [](const Run& run) {
    return run.speedup && run.speedup->is_known() ? Value(half_width(run.speedup->low, run.speedup->high))
                                                  : Value();
  };
  const auto variability_cost = [](const Run& run) {
    if (!run.times || !run.times->gpu_days_without_variability) return Value();
    return Value(run.times->gpu_days / *run.times->gpu_days_without_variability - 1);
  };
  return {
      timed("speedup", of(&Run::speedup, &TimeRatio::value), kTime, 3, "speed-up", "",
            "Wall time of the baseline over that of the run, for equally many tokens of the data; above 1 is "
            "faster.",
            times_faster),
      {"speedup_low", of(&Run::speedup, &TimeRatio::low)},
      {"speedup_high", of(&Run::speedup, &TimeRatio::high)},
      {.column = Column{kTime, 4, "its 90%", "",
                        "How wide the interval is that is meant to hold nine of ten true speed-ups: at 5% "
                        "it goes from speed-up / 1.05 to speed-up x 1.05. Errors of prices that make both "
                        "runs longer alike are not in it. Where it holds 1, either of the two may be the "
                        "faster one.",
                        or_oom(number(speedup_interval, whole_percent))}},
      {"bound_gpu_days", of(&Run::bound, &BoundGap::gpu_days)},
      timed(
          "above_bound_fraction",
          [](const Run& run) { return run.bound ? if_there(run.bound->above_fraction) : Value(); }, kTime, 5,
          "bound", "",
          "How much more GPU time the run takes than the lower bound: the least that any packing and "
          "schedule of its samples could take on the same GPUs if each sample stays whole. At 0% nothing is "
          "left to gain.",
          signed_percent),
      {"gpu_days_without_variability",
       [](const Run& run) {
         return run.times ? if_there(run.times->gpu_days_without_variability) : Value();
       }},
      {.column =
           Column{kVariability, 27, "variability", "",
                  "How much longer the run takes than if every GPU and kernel took exactly the time in the "
                  "cost model.",
                  or_oom(number(variability_cost, signed_percent))}},
  };
}

// None for a run whose mixture measures nothing.
Values mixture() {
  const auto of_probes = [](auto get) {
    return [=](const Run& run) {
      const bool measures = run.mixture && run.times && !run.mixture->probes.empty();
      return measures ? Value(get(run)) : Value();
    };
  };
  return {
      {"rewards_gpu_days", of_probes([](const Run& run) { return run.mixture->probes.front().gpu_days; })},
      timed("gpu_days_with_rewards",
            of_probes([](const Run& run) { return run.mixture->gpu_days_with_probes(run.times->gpu_days); }),
            kMixture, 44, "+ rewards", "GPU-days",
            "GPU-days with the passes that measure the rewards of a mixture, and the updates of its actors. "
            "Of the "
            "other columns none includes them."),
  };
}

Values whole_runs() {
  const auto whole = [](double WholeRun::*member) { return of(&Run::whole, member); };
  return {
      timed("whole_gpu_days", whole(&WholeRun::gpu_days), kWhole, 8, "whole run", "GPU-days",
            "GPU-days of the steps and of all that the scenario says of a run beside its steps: start-up, "
            "first steps, waits for data, evaluation, checkpoints and the end. Columns outside this group "
            "and Failures leave these out."),
      {"whole_gpu_days_low", whole(&WholeRun::gpu_days_low)},
      {"whole_gpu_days_high", whole(&WholeRun::gpu_days_high)},
      timed("whole_wall_hours", whole(&WholeRun::wall_hours), kWhole, 9, "whole wall", "h",
            "Wall time of the same."),
      {"startup_s", whole(&WholeRun::startup_s)},
      {"first_steps_s", whole(&WholeRun::first_steps_s)},
      {"data_wait_s", whole(&WholeRun::data_wait_s)},
      {"evaluation_s", whole(&WholeRun::evaluation_s)},
      {"checkpoint_s", whole(&WholeRun::checkpoint_s)},
      {"finish_s", whole(&WholeRun::finish_s)},
  };
}

Values planning_and_failures() {
  const auto loss = [](double FailureCost::Losses::*member) {
    return [=](const Run& run) {
      const bool is_known = run.failures && run.failures->losses;
      return is_known ? Value((*run.failures->losses).*member) : Value();
    };
  };
  const auto failures = [](double FailureCost::*member) { return of(&Run::failures, member); };
  const auto interval_text = [](const Run& run) {
    if (!run.failures || !std::isfinite(run.failures->gpu_days_p95)) return std::string("-");
    return quantity(run.failures->gpu_days_p05) + " to " + quantity(run.failures->gpu_days_p95);
  };
  return {
      timed(
          "planning_exposed_s", of(&Run::planning, &PlanningCost::exposed_s), kPlanning, 32, "plan wait", "s",
          "Mean time for which GPUs wait for the plan of an iteration, if planning a batch beside the "
          "training takes as long as the scenario says. Of the other columns, only + planning includes it."),
      timed("gpu_days_with_planning", of(&Run::planning, &PlanningCost::gpu_days), kPlanning, 16,
            "+ planning", "GPU-days", "GPU-days with these waits."),
      timed(
          "gpu_days_with_failures", failures(&FailureCost::gpu_days), kFailures, 11, "+ failures", "GPU-days",
          "Expected GPU-days with failures, restarts and checkpoints, spare units included. Columns outside "
          "this group leave these out."),
      {"gpu_days_with_failures_p05", failures(&FailureCost::gpu_days_p05)},
      {"gpu_days_with_failures_p50", failures(&FailureCost::gpu_days_p50)},
      {"gpu_days_with_failures_p95", failures(&FailureCost::gpu_days_p95)},
      {.column =
           Column{kFailures, 26, "5 to 95%", "GPU-days",
                  "The GPU-days with failures that 5% and 95% of runs do not exceed. Only the randomness of "
                  "failures counts, not the uncertainty of the run's own time.",
                  or_oom(interval_text)}},
      {"wall_hours_with_failures", failures(&FailureCost::wall_hours)},
      timed("expected_failures", failures(&FailureCost::n_failures), kFailures, 33, "failures", "",
            "Expected number of failures."),
      timed("checkpoint_interval_s", failures(&FailureCost::checkpoint_interval_s), kFailures, 34,
            "checkpoint", "s",
            "Work between two checkpoints: the scenario's, or the interval with the least expected time."),
      timed(
          "effective_fraction", failures(&FailureCost::effective_fraction), kFailures, 35, "effective", "",
          "The share of the expected time that is work which is kept; the rest is checkpoints, restarts and "
          "lost work.",
          percent),
      {"checkpoint_fraction", loss(&FailureCost::Losses::checkpoint_fraction)},
      {"restart_fraction", loss(&FailureCost::Losses::restart_fraction)},
      {"lost_fraction", loss(&FailureCost::Losses::lost_fraction)},
  };
}

Values shares() {
  Values values;
  for (const TimePart& part : time_parts()) {
    values.push_back({fraction_key(part), [=](const Run& run) {
                        return run.times ? Value(part.fraction_of(run.times->shares)) : Value();
                      }});
  }
  const auto evidence = [](double EvidenceShares::*member) {
    return [=](const Run& run) { return run.times ? Value(run.times->evidence.*member) : Value(); };
  };
  values.push_back({"measured_fraction", evidence(&EvidenceShares::measured)});
  values.push_back({"extrapolated_fraction", evidence(&EvidenceShares::extrapolated)});
  values.push_back({"transferred_fraction", evidence(&EvidenceShares::transferred)});
  values.push_back({"unmeasured_fraction", evidence(&EvidenceShares::missing)});
  return values;
}

Values order() {
  const auto mean = of(&Run::reordering, &Reordering::mean_iterations);
  const auto largest_text = [](const Run& run) {
    return run.reordering ? grouped(run.reordering->largest_iterations) : "-";
  };
  return {
      {"mean_reordering_iterations", mean,
       Column{kOrder, 42, "reordered", "iterations",
              "Mean distance of a sample from the iteration that the seeded shuffle puts it in. Only "
              "strategies that form whole iterations reorder samples; others shuffle packs.",
              number(mean, quantity)}},
      {"largest_reordering_iterations", of(&Run::reordering, &Reordering::largest_iterations),
       Column{kOrder, 43, "at most", "iterations", "The largest such distance of any sample.", largest_text}},
  };
}

Values data() {
  return {
      data_count("dropped_samples", &DataCounts::dropped_samples),
      data_tokens("dropped_tokens", &DataCounts::dropped_tokens, 18, "dropped",
                  "Tokens never trained: over-long samples left out, and packs left out of last iterations. "
                  "All epochs."),
      data_count("empty_samples", &DataCounts::empty_samples),
      data_count("truncated_samples", &DataCounts::truncated_samples),
      data_tokens("truncated_tokens", &DataCounts::truncated_tokens, 19, "cut off",
                  "Tokens cut off over-long samples. All epochs."),
      data_count("split_samples", &DataCounts::split_samples),
      data_count("own_pack_samples", &DataCounts::own_pack_samples),
      data_tokens("padded_tokens", &DataCounts::padded_tokens, 21, "padded",
                  "Padding tokens computed. All epochs."),
      data_tokens("repeated_tokens", &DataCounts::repeated_tokens, 20, "repeated",
                  "Tokens trained more than once an epoch to fill last iterations. All epochs."),
      data_count("trained_tokens", &DataCounts::trained_tokens),
      data_count("largest_iteration_tokens", &DataCounts::largest_iteration_tokens),
      data_count("longest_trained_tokens", &DataCounts::longest_tokens),
      {"curriculum_iterations", [](const Run& run) { return Value(run.curriculum_iterations); }},
      {"later_packs", of(&Run::repacking, &Repacking::later_packs)},
      {"new_packs", of(&Run::repacking, &Repacking::new_packs)},
  };
}

RunTable table_of(const Column& column) {
  return column.group == kUse || column.group == kCost ? RunTable::use_and_cost : RunTable::comparison;
}

bool is_shown(const RunValue& value, const Report& report) {
  const Column& column = *value.column;
  if (column.group == kVariability) return report.manifest.variability.any();
  if (column.group == kFailures) return report.manifest.failures.has_value();
  if (column.group == kWhole || table_of(column) == RunTable::use_and_cost) {
    return std::ranges::any_of(report.runs, [&](const Run& run) {
      return !std::holds_alternative<std::monostate>(value.value(run));
    });
  }
  const auto any_run_has = [&](auto part) {
    return std::ranges::any_of(report.runs, [&](const Run& run) { return (run.*part).has_value(); });
  };
  if (column.group == kPlanning) return any_run_has(&Run::planning);
  if (column.group == kMixture) {
    return std::ranges::any_of(report.runs,
                               [](const Run& run) { return run.mixture && !run.mixture->probes.empty(); });
  }
  if (column.group == kOrder) return any_run_has(&Run::reordering);
  return true;
}

std::string value_cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty() ? "-" : printable(*text);
  if (const auto* number = std::get_if<double>(&value)) return quantity(*number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return grouped(*integer);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  return "-";
}

// A column of a value that has none. The value outlives it.
Column column_of_key(const RunValue& value) {
  return {.group = "",
          .priority = 0,
          .title = value.key,
          .unit = "",
          .definition = "The value of this key in report.json and report.csv.",
          .text = [&value](const Run& run) { return value_cell(value.value(run)); }};
}

}  // namespace

std::span<const RunValue> run_values() {
  static const Values kValues = [] {
    Values all;
    for (Values part : {names(), schedule_and_balance(), times(), use(), cost(), comparisons(), mixture(),
                        whole_runs(), planning_and_failures(), shares(), order(), data()})
      std::ranges::move(part, std::back_inserter(all));
    return all;
  }();
  return kValues;
}

std::vector<Column> columns(const Report& report, RunTable table) {
  std::vector<Column> shown;
  for (const RunValue& value : run_values()) {
    if (value.column && table_of(*value.column) == table && is_shown(value, report))
      shown.push_back(*value.column);
  }
  return shown;
}

const Column* find_column(std::string_view title_or_key) {
  if (title_or_key.empty()) return nullptr;
  for (const RunValue& value : run_values()) {
    if (value.column && (value.column->title == title_or_key || value.key == title_or_key))
      return &*value.column;
  }
  return nullptr;
}

std::optional<Column> column_named(std::string_view name) {
  if (const Column* column = find_column(name); column != nullptr) return *column;
  for (const RunValue& value : run_values()) {
    if (value.column && fmt::format("{} {}", value.column->title, value.column->unit) == name)
      return value.column;
    if (!value.column && value.key == name) return column_of_key(value);
  }
  return std::nullopt;
}

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  for (const RunValue& value : run_values()) {
    if (value.column) add(value.column->title);
  }
  for (const RunValue& value : run_values()) add(value.key);
  return names;
}

}  // namespace packsim
