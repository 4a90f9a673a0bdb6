#include "recommend/known_candidates.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiment/plans/keep_strategies.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {
namespace {

CandidateTimes read_times(JsonReader reader) {
  reader.allow_any_keys();
  // JSON has no number for a run that never ends.
  const auto time = [&](const char* key) {
    return reader.nullable_number(key).value_or(std::numeric_limits<double>::infinity());
  };
  return {.wall_hours = time("wall_hours"),
          .wall_hours_low = time("wall_hours_low"),
          .wall_hours_high = time("wall_hours_high"),
          .gpu_days = time("gpu_days"),
          .gpu_days_low = time("gpu_days_low"),
          .gpu_days_high = time("gpu_days_high"),
          .money = reader.nullable_number("money"),
          .money_low = reader.nullable_number("money_low"),
          .money_high = reader.nullable_number("money_high")};
}

Standing read_standing(JsonReader& reader) {
  std::vector<std::string> names;
  for (int i = 0; i < kNStandings; ++i) names.emplace_back(standing_name(static_cast<Standing>(i)));
  return static_cast<Standing>(reader.one_of("standing", names));
}

Candidate read_candidate(JsonReader& reader) {
  reader.allow_any_keys();
  Candidate candidate;
  candidate.strategy = reader.nullable_string("strategy").value_or("");
  candidate.standing = read_standing(reader);
  candidate.reason = reader.nullable_string("reason").value_or("");
  candidate.job_hash = reader.nullable_string("job_hash").value_or("");
  if (!reader.is_null("plan") && reader.value("plan") != nullptr)
    candidate.plan = CandidatePlan{.zero_stage = reader.integer("zero_stage", 0, 3),
                                   .groups = reader.string("groups"),
                                   .json = reader.value("plan")->dump()};
  if (!reader.is_null("times")) candidate.times = read_times(reader.object("times"));
  if (candidate.is_comparable() && !candidate.times)
    reader.refuse("times", "object, as the candidate was simulated");
  return candidate;
}

bool has_result(const Candidate& candidate) {
  return candidate.standing != Standing::not_reached && candidate.standing != Standing::not_simulated &&
         candidate.standing != Standing::ruled_out;
}

// JSON has no number for what a run costs that never ends.
void add_endless_money(CandidateTimes& times) {
  for (std::optional<double>* money : {&times.money, &times.money_low, &times.money_high}) {
    if (!*money) *money = std::numeric_limits<double>::infinity();
  }
}

}  // namespace

std::vector<Candidate> known_candidates(const std::string& path) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  std::vector<Candidate> candidates;
  {
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    reader.integer("format", 1, 1);
    for (JsonReader& one : reader.objects("candidates")) candidates.push_back(read_candidate(one));
  }
  problems.throw_if_any();
  return candidates;
}

KnownCluster known_cluster(std::span<const Candidate> known, const Candidate& cluster,
                           const Question& question) {
  KnownCluster of_cluster;
  if (cluster.job_hash.empty()) return of_cluster;
  bool is_missing = false;
  for (const Candidate& earlier : known) {
    // Two offers of one price are one job.
    if (earlier.job_hash != cluster.job_hash || has_strategy(of_cluster.candidates, earlier.strategy))
      continue;
    is_missing = is_missing || !has_result(earlier);
    if (!has_result(earlier)) continue;
    Candidate& candidate = of_cluster.candidates.emplace_back(cluster);
    candidate.strategy = earlier.strategy;
    candidate.standing = earlier.standing;
    candidate.reason = earlier.reason;
    candidate.plan = earlier.plan;
    candidate.times = earlier.times;
    if (candidate.times && question.offers[cluster.offer].gpu_hour_price) add_endless_money(*candidate.times);
    if (!candidate.is_comparable()) continue;
    candidate.reason.clear();
    judge(question.limits, candidate);
  }
  of_cluster.is_whole = !is_missing && !of_cluster.candidates.empty();
  return of_cluster;
}

bool has_strategy(const std::vector<Candidate>& candidates, const std::string& strategy) {
  return std::ranges::find(candidates, strategy, &Candidate::strategy) != candidates.end();
}

void keep_unknown(Scenario& scenario, std::vector<Candidate>& known) {
  std::erase_if(known, [](const Candidate& one) { return one.standing == Standing::refused; });
  const auto baseline = std::ranges::find(known, scenario.baseline, &Candidate::strategy);
  if (baseline == known.end() || !baseline->times) known.clear();
  if (known.empty()) return;
  std::vector<std::string> names;
  for (const StrategySpec& spec : scenario.strategies) {
    if (spec.name == scenario.baseline || !has_strategy(known, spec.name)) names.push_back(spec.name);
  }
  keep_strategies(scenario, names);
}

void keep_reached(Scenario& scenario, const std::vector<Candidate>& candidates, const Candidate& one) {
  std::vector<std::string> names;
  for (const Candidate& other : candidates) {
    const bool is_of_cluster = other.offer == one.offer && other.nodes == one.nodes;
    if (is_of_cluster && has_result(other) && other.standing != Standing::refused && !other.strategy.empty())
      names.push_back(other.strategy);
  }
  keep_strategies(scenario, names);
}

}  // namespace packsim
