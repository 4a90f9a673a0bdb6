#pragma once

#include <span>
#include <string>
#include <vector>

#include "recommend/candidate.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The candidates of a recommendation.json that an earlier call wrote, with the hashes of their jobs. Their
/// offers are not known. Throws ScenarioError with all mistakes, and FileError where the file cannot be read.
std::vector<Candidate> known_candidates(const std::string& path);

/// What an earlier answer has of a cluster.
struct KnownCluster {
  std::vector<Candidate> candidates;  ///< each with a result
  bool is_whole = false;              ///< whether no strategy is missing
};

/// The known candidates of the cluster's job, judged by the limits of the question, which may be others than
/// they were. cluster: a candidate without a strategy, which says all else of the cluster.
KnownCluster known_cluster(std::span<const Candidate> known, const Candidate& cluster,
                           const Question& question);

/// Whether one of the candidates is of the strategy.
bool has_strategy(const std::vector<Candidate>& candidates, const std::string& strategy);

/// Leaves the scenario the strategies that are not known, and the baseline, with which each is compared.
/// Where that is not known or trains nothing, the known ones were compared with another run, and are deleted.
void keep_unknown(Scenario& scenario, std::vector<Candidate>& known);

/// Leaves the scenario the strategies of which there is a result on the cluster of `one`.
void keep_reached(Scenario& scenario, const std::vector<Candidate>& candidates, const Candidate& one);

}  // namespace packsim
