#pragma once

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

std::string cost_sentence(const StrategyResult& best);

/// What the limits of the trainer cost, beginning with a blank; empty without a trainer.
std::string trainer_sentence(const Report& report, const StrategyResult& best);

/// How much of what the best run saves against the baseline's strategy at a given plan is saved by the
/// baseline's plan, which was searched, and how much by packing; begins with a blank. Empty unless the report
/// has both runs of that strategy.
std::string split_sentence(const Report& report, const StrategyResult& best);

/// What `best` saves against `other` by part of the time. The parts add up to the difference in GPU-days.
std::vector<VerdictSaving> savings_of(const StrategyResult& best, const StrategyResult& other);
std::string why_sentence(const StrategyResult& best, const StrategyResult& other);

std::vector<std::string> doubts_of(const Report& report, const StrategyResult& best);

/// The runs that no other is compared with, and why; empty if there are none.
std::string not_compared_sentence(const Report& report);

}  // namespace packsim::formats_detail
