#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "reports/verdict/verdict.hpp"

/// The sentences of a verdict. Runs named `best` and `other` have times.
namespace packsim::formats_detail {

/// Why no run of the report can be recommended.
std::string no_best_headline(const Report& report);

/// The best run in comparison with the baseline, and what it loses of the data.
std::string best_headline(const Report& report, const StrategyResult& best);

/// What a reader should do.
struct Decision {
  const StrategyResult* run =
      nullptr;           ///< the best or, where a simpler one is as good, the simplest of those
  std::string sentence;  ///< empty where there is nothing to decide, or no interval says how sure it is
};
Decision decide(const Report& report, const StrategyResult& best);

std::string cost_sentence(const StrategyResult& best);

/// What the limits of the trainer cost, beginning with a blank; empty without a trainer.
std::string trainer_sentence(const Report& report, const StrategyResult& best);

/// What the best run saves against the baseline's strategy at a given plan.
struct GainSplit {
  const StrategyResult* given = nullptr;  ///< the run at the given plan
  double by_plan_gpu_days = 0;            ///< saved by the plan of the baseline, which was searched
  double by_packing_gpu_days = 0;         ///< and by the best run's packing

  double gpu_days() const { return by_plan_gpu_days + by_packing_gpu_days; }
};

/// None unless the report has both runs of the baseline's strategy, and its searched plan is the faster one.
std::optional<GainSplit> gain_split(const Report& report, const StrategyResult& best);

/// The same in words, beginning with a blank; empty for none, and where the baseline is the best run.
std::string split_sentence(const Report& report, const StrategyResult& best);

/// What `best` saves against `other` by part of the time. The parts add up to the difference in GPU-days.
std::vector<VerdictSaving> savings_of(const StrategyResult& best, const StrategyResult& other);
std::string why_sentence(const StrategyResult& best, const StrategyResult& other);

std::vector<std::string> doubts_of(const Report& report, const StrategyResult& best);

/// The runs that no other is compared with, and why; empty if there are none.
std::string not_compared_sentence(const Report& report);

}  // namespace packsim::formats_detail
