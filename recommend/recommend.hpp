#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "recommend/candidate.hpp"
#include "recommend/question.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The answer to a question: every candidate, and which are the best.
struct Recommendation {
  Question question;
  /// Candidates are ordered by offer, number of nodes, and strategy in the order of the scenario.
  std::vector<Candidate> candidates;
  /// Indices of those that meet the question, the best of each cluster, best first. Empty: none does.
  std::vector<std::size_t> ranking;
  /// Indices of simulated and comparable candidates that no other one beats in both hours and money (GPU-days
  /// without prices), the fastest first.
  std::vector<std::size_t> pareto;
  std::optional<int> fewest_gpus = {};  ///< that meet the question; none if no cluster does
  bool is_complete = true;              ///< whether the best and the fewest GPUs are those of all clusters
  int n_known = 0;                      ///< candidates that are those of an earlier answer
  Report report;                        ///< of the best's cluster; without runs if there is no best
};

/// How to look for the answer. None of these changes it, unless the time is over before it is found.
struct RecommendOptions {
  int n_threads = 1;  ///< clusters that are simulated at the same time
  std::function<void(const std::string&)> progress = [](const std::string&) {};  ///< called from any thread
  /// Called once when the bounds are known, with estimated_work_s() of all clusters that they leave, on one
  /// thread.
  std::function<void(double most_work_s)> estimated = [](double) {};
  /// Whether the answer is wanted now: asked from any thread, between two strategies and more often. Clusters
  /// that were not simulated by then, and may be better than the best, are not_reached.
  std::function<bool()> is_over = [] { return false; };
  std::string version = {};  ///< of the program: a part of Candidate::job_hash
  /// Of an earlier answer (known_candidates()). Those whose job is the same are not simulated again, but for
  /// the baseline of a cluster of which a strategy is missing.
  std::vector<Candidate> known = {};
};

/// The settings that put the scenario on a cluster. Its own cluster keeps all but the number of nodes.
std::vector<std::string> settings_of(const ClusterOffer& offer, int nodes);

/// Simulates the scenario's strategies on each cluster that may be the answer, and ranks them. A cluster that
/// least_work() shows not to be it is not simulated: the best is that of all clusters all the same.
///
/// load: the scenario with settings (load_scenario()). Throws std::invalid_argument with mistakes_of() the
/// question, and what load throws if the scenario is refused on every cluster of an offer.
Recommendation recommend(const std::function<Scenario(const std::vector<std::string>&)>& load,
                         const Question& question, const RecommendOptions& options = {});

/// The best comparable candidate of a cluster; none if it has none.
std::optional<std::size_t> best_of_cluster(const Recommendation& recommendation, std::size_t offer,
                                           int nodes);

}  // namespace packsim
