#include "reports/tables/mixture_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

// "0.25 to 0.4".
std::string from_to(double first, double last) {
  return first == last ? ratio(first) : fmt::format("{} to {}", ratio(first), ratio(last));
}

// GPU-days for a token, beside those of the mixture that stands still.
std::string beside_still(const StrategyResult& run) {
  if (!run.mixture->still || !run.times || run.mixture->still->trained_tokens == 0) return "-";
  const StillMixture& still = *run.mixture->still;
  const double moving = run.times->gpu_days / static_cast<double>(run.counts.trained_tokens);
  return fmt::format("{:.2f}x", moving / (still.gpu_days / static_cast<double>(still.trained_tokens)));
}

}  // namespace

std::vector<std::string> mixture_sentences(const MixtureSummary& mixture) {
  std::vector<std::string> texts = {fmt::format(
      "Mixture by policy {}: {}{} {} in {}, {}; {} of samples drawn before; {} never drawn.", mixture.policy,
      mixture.policy_summary, mixture.policy_source.empty() ? "" : " (" + mixture.policy_source + ")",
      counted(mixture.n_draws, "draw"), counted(std::ssize(mixture.windows), "window"),
      counted(mixture.n_updates, "update"), counted(mixture.repeated_draws, "draw"),
      counted(mixture.never_drawn_samples, "sample"))};
  texts.insert(texts.end(), mixture.assumptions.begin(), mixture.assumptions.end());
  return texts;
}

std::vector<std::vector<std::string>> mixture_arm_rows(const Report& report, bool with_groups) {
  if (!report.mixture) return {};
  const MixtureSummary& mixture = *report.mixture;
  const MixtureProbabilities& first = mixture.windows.front().probabilities;
  const MixtureProbabilities& last = mixture.windows.back().probabilities;
  std::vector<std::vector<std::string>> rows = {
      {"subset", "group", "probability", "samples", "mean tokens", "draws", "never drawn"}};
  for (std::size_t i = 0; i < mixture.subsets.size(); ++i) {
    const MixtureSummary::Subset& subset = mixture.subsets[i];
    const std::string of_subset = from_to(first.subsets[i], last.subsets[i]);
    if (subset.groups.size() > 1) {
      MixtureSummary::Group all;
      for (const MixtureSummary::Group& group : subset.groups) {
        all.n_samples += group.n_samples;
        all.n_tokens += group.n_tokens;
        all.n_draws += group.n_draws;
        all.never_drawn_samples += group.never_drawn_samples;
      }
      rows.push_back({subset.name, "all", of_subset, grouped(all.n_samples),
                      quantity(static_cast<double>(all.n_tokens) / static_cast<double>(all.n_samples)),
                      grouped(all.n_draws), grouped(all.never_drawn_samples)});
    }
    const std::size_t n_groups = with_groups || subset.groups.size() == 1 ? subset.groups.size() : 0;
    for (std::size_t g = 0; g < n_groups; ++g) {
      const MixtureSummary::Group& group = subset.groups[g];
      const bool is_alone = subset.groups.size() == 1;
      rows.push_back({subset.name, is_alone ? "all" : fmt::format("{}", g),
                      is_alone ? of_subset : from_to(first.groups[i][g], last.groups[i][g]),
                      grouped(group.n_samples), quantity(group.mean_tokens), grouped(group.n_draws),
                      grouped(group.never_drawn_samples)});
    }
  }
  return rows;
}

std::vector<std::vector<std::string>> mixture_run_rows(const Report& report) {
  std::vector<std::vector<std::string>> rows = {{"run", "packs of", "plan for", "windows", "draws carried",
                                                 "fill", "beside still", "training", "rewards",
                                                 "rewards' share", "with rewards"}};
  for (const StrategyResult& run : report.runs) {
    if (!run.mixture || !run.times) continue;
    const StrategyMixture& mixture = *run.mixture;
    std::int64_t carried = 0;
    for (const MixtureWindowResult& window : mixture.windows) carried += window.carried_draws;
    const ProbeCost* probes = mixture.probes.empty() ? nullptr : &mixture.probes.front();
    const double training = run.times->gpu_days;
    rows.push_back({run.name, mixture.packs, mixture.plan.empty() ? "given" : mixture.plan,
                    mixture.windows.empty() ? "1" : grouped(std::ssize(mixture.windows)), grouped(carried),
                    percent(mixture.fill_fraction), beside_still(run), quantity(training),
                    probes == nullptr ? "-" : quantity(probes->gpu_days),
                    probes == nullptr ? "-" : percent(probes->of_training_fraction),
                    quantity(mixture.gpu_days_with_probes(training))});
  }
  return rows.size() == 1 ? std::vector<std::vector<std::string>>{} : rows;
}

std::vector<std::vector<std::string>> probe_rows(const Report& report) {
  const StrategyResult* run = fastest_run(report);
  if (run == nullptr || !run->mixture || run->mixture->probes.empty()) return {};
  const std::vector<ProbeCost>& costs = run->mixture->probes;
  const bool any_hidden =
      std::ranges::any_of(costs, [](const ProbeCost& cost) { return cost.hidden_gpu_days > 0; });
  std::vector<std::vector<std::string>> rows = {
      {"rewards measured", "fwd+bwd", "forward", "rewards", "rewards' share", "by passes"}};
  if (any_hidden) rows.front().emplace_back("hidden");
  for (const ProbeCost& cost : costs) {
    rows.push_back({cost.name, grouped(cost.forward_backward_passes), grouped(cost.forward_passes),
                    quantity(cost.gpu_days), percent(cost.of_training_fraction),
                    percent(cost.of_training_passes_fraction)});
    if (any_hidden) rows.back().push_back(quantity(cost.hidden_gpu_days));
  }
  return rows;
}

}  // namespace packsim::formats_detail
