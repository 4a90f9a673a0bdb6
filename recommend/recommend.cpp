#include "recommend/recommend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "experiment/compare_strategies.hpp"
#include "experiment/estimate_work.hpp"
#include "experiment/for_each_index.hpp"
#include "experiment/shared_work.hpp"
#include "recommend/candidate.hpp"
#include "recommend/known_candidates.hpp"
#include "recommend/least_work.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {
namespace {

using formats_detail::quantity;
using Load = std::function<Scenario(const std::vector<std::string>&)>;

// Clusters that are simulated before it is decided which others may be better: whatever the number of
// threads.
constexpr std::size_t kRound = 4;

struct ClusterJob {
  std::size_t offer = 0;
  int nodes = 0;
  int n_gpus = 0;
  LeastWork least;
  double work_s = 0;      // of its simulation
  std::string hash = {};  // Candidate::job_hash
  int n_known = 0;        // candidates that are those of an earlier answer
  std::vector<RefusedStrategy> refused = {};
  std::vector<Candidate> candidates;

  Candidate without_run(Standing standing, std::string reason) const {
    Candidate candidate{.offer = offer, .nodes = nodes, .n_gpus = n_gpus, .least_gpu_hours = least.gpu_hours};
    candidate.standing = standing;
    candidate.reason = std::move(reason);
    candidate.job_hash = hash;
    return candidate;
  }
};

Candidate candidate_of(const Question& question, const ClusterJob& job, const StrategyResult& run) {
  Candidate candidate = job.without_run(Standing::failed, "");
  candidate.strategy = run.name;
  candidate.plan = candidate_plan(run.plan, run.groups);
  if (run.failure) {
    candidate.reason = *run.failure;
  } else if (!run.feasible) {
    candidate.standing = Standing::does_not_fit;
    candidate.reason = formats_detail::memory_excess(run);
  } else if (!run.times) {
    candidate.reason = "trains nothing";
  } else {
    candidate.times = times_of(run, question.offers[job.offer].gpu_hour_price);
    if (run.differences.empty()) {
      judge(question.limits, candidate);
    } else {
      candidate.standing = Standing::other_job;
      candidate.reason = fmt::format("{}", fmt::join(run.differences, "; "));
    }
  }
  return candidate;
}

Report report_of(const Scenario& scenario, SharedWork& shared, const std::function<bool()>& is_over) {
  return compare_strategies(
      scenario, {.only_times = true, .keeps_failures = true, .shared = &shared, .is_over = is_over});
}

bool meets(const Candidate& candidate) {
  return candidate.standing == Standing::meets;
}

// A mistake without the path of the file that it is in, which is the same for all clusters.
std::string without_file(const std::string& message) {
  const std::size_t at = message.find(": /");
  return at == std::string::npos ? message : message.substr(at + 2);
}

// Of all that the results of a cluster depend on.
std::string job_hash(const Scenario& scenario, const DataSet& data, const std::string& version) {
  std::string text = version + "\n" + scenario.json->dump();
  for (const auto& [path, hash] : scenario.files) text += "\n" + hash;
  for (const DrawnSource& source : data.drawn.sources) text += "\n" + source.hash;
  return hash_of(text);
}

KnownCluster known_of(const ClusterJob& job, const Question& question, const RecommendOptions& options) {
  return known_cluster(options.known, job.without_run(Standing::failed, ""), question);
}

// In the order of the strategies.
void sort_by_strategy(const std::vector<StrategySpec>& strategies, std::vector<Candidate>& candidates) {
  std::ranges::stable_sort(candidates, {}, [&](const Candidate& candidate) {
    return std::ranges::find(strategies, candidate.strategy, &StrategySpec::name) - strategies.begin();
  });
}

// Those for which no time was left; all of them are one candidate without a strategy.
std::vector<Candidate> not_reached(const ClusterJob& job, const Scenario& scenario, const Report& report) {
  const Candidate cluster = job.without_run(Standing::not_reached, "no time was left to simulate it");
  if (report.runs.empty() && job.candidates.empty()) return {cluster};
  std::vector<Candidate> candidates;
  for (const StrategySpec& spec : scenario.strategies) {
    if (has_strategy(job.candidates, spec.name)) continue;
    candidates.push_back(cluster);
    candidates.back().strategy = spec.name;
  }
  return candidates;
}

std::string cluster_text(const Question& question, std::size_t offer, int nodes) {
  return fmt::format("{} {} of {}", nodes, nodes == 1 ? "node" : "nodes", question.offers[offer].type);
}

// The best candidate of the clusters that are simulated already, for those who wait. Any thread may use it.
class BestSoFar {
 public:
  explicit BestSoFar(const Question& question) : question_(question) {}

  void look_at(const std::vector<Candidate>& candidates) {
    const std::scoped_lock lock(mutex_);
    for (const Candidate& candidate : candidates) {
      if (meets(candidate) && (!best_ || is_better(question_.goal, candidate, *best_))) best_ = candidate;
    }
  }
  /// "; so far: isf on 4 nodes of h100-sxm-80gb: 0.577 h, costs 46.1"; empty if nothing meets the limits yet.
  std::string text() const {
    const std::scoped_lock lock(mutex_);
    if (!best_) return "";
    return fmt::format("; so far: {} on {}: {} h, {}", best_->strategy,
                       cluster_text(question_, best_->offer, best_->nodes),
                       quantity(best_->times->wall_hours),
                       fmt::format(fmt::runtime(best_->times->money ? "costs {}" : "{} GPU-days"),
                                   quantity(best_->times->cost())));
  }

 private:
  const Question& question_;
  mutable std::mutex mutex_;
  std::optional<Candidate> best_;
};

void simulate(const Load& load, const Question& question, const RecommendOptions& options, SharedWork& shared,
              BestSoFar& so_far, ClusterJob& job) {
  KnownCluster known = known_of(job, question, options);
  if (known.is_whole) {
    job.n_known = static_cast<int>(known.candidates.size());
    job.candidates = std::move(known.candidates);
    return so_far.look_at(job.candidates);
  }
  options.progress(cluster_text(question, job.offer, job.nodes) + so_far.text());
  try {
    Scenario scenario = load(settings_of(question.offers[job.offer], job.nodes));
    const std::vector<StrategySpec> strategies = scenario.strategies;
    keep_unknown(scenario, known.candidates);
    job.n_known = static_cast<int>(known.candidates.size());
    job.candidates = std::move(known.candidates);
    const Report report = report_of(scenario, shared, options.is_over);
    for (const StrategyResult& run : report.runs) {
      if (!has_strategy(job.candidates, run.name)) job.candidates.push_back(candidate_of(question, job, run));
    }
    std::ranges::move(not_reached(job, scenario, report), std::back_inserter(job.candidates));
    sort_by_strategy(strategies, job.candidates);
    for (const RefusedStrategy& refused : scenario.refused_strategies) {
      job.candidates.push_back(job.without_run(Standing::refused, without_file(refused.messages.front())));
      job.candidates.back().strategy = refused.name;
    }
  } catch (const ScenarioError& error) {
    job.candidates.push_back(job.without_run(Standing::refused, without_file(error.messages().front())));
  } catch (const std::invalid_argument& error) {
    job.candidates.push_back(job.without_run(Standing::failed, error.what()));
  }
  so_far.look_at(job.candidates);
}

// Why the limits rule out a cluster, whatever the schedule; empty if they do not.
std::string limit_exceeded(const Question& question, const ClusterJob& job) {
  const double hours = job.least.gpu_hours / job.n_gpus;
  if (question.limits.deadline_hours && hours > *question.limits.deadline_hours)
    return fmt::format("takes at least {} h {}", quantity(hours), job.least.basis);
  if (question.limits.budget) {
    const double money = question.offers[job.offer].gpu_hour_price.value() * job.least.gpu_hours;
    if (money > *question.limits.budget)
      return fmt::format("costs at least {} {}", quantity(money), job.least.basis);
  }
  return "";
}

// A candidate that no plan of the cluster is better than.
Candidate ideal(const Question& question, const ClusterJob& job) {
  Candidate candidate = job.without_run(Standing::meets, "");
  candidate.times = least_times(question, candidate);
  return candidate;
}

Candidate cannot_be_better(const ClusterJob& job) {
  return job.without_run(Standing::not_simulated, "cannot be better");
}

const Candidate* best_of(Goal goal, const std::vector<Candidate>& candidates, auto is_asked) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (is_asked(candidate) && (best == nullptr || is_better(goal, candidate, *best))) best = &candidate;
  }
  return best;
}

bool is_unfinished(const ClusterJob& job) {
  return std::ranges::find(job.candidates, Standing::not_reached, &Candidate::standing) !=
         job.candidates.end();
}

// Clusters with too many GPUs are left out.
void add_jobs(const Question& question, std::size_t offer, int gpus_per_node, std::vector<ClusterJob>& jobs) {
  for (const int nodes : node_counts_of(question, question.offers[offer])) {
    const std::int64_t n_gpus = std::int64_t{nodes} * gpus_per_node;
    if (question.limits.most_gpus && n_gpus > *question.limits.most_gpus) continue;
    jobs.push_back(
        {.offer = offer, .nodes = nodes, .n_gpus = static_cast<int>(n_gpus), .least = {}, .candidates = {}});
  }
}

// The indices of those that no other one beats in one way without losing in the other.
std::vector<std::size_t> pareto_of(const std::vector<Candidate>& candidates) {
  std::vector<std::size_t> sorted;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (candidates[c].is_comparable()) sorted.push_back(c);
  }
  std::ranges::stable_sort(sorted, [&](std::size_t one, std::size_t other) {
    return is_better(Goal::fastest, candidates[one], candidates[other]);
  });
  std::vector<std::size_t> front;
  for (const std::size_t c : sorted) {
    if (front.empty() || is_better(Goal::cheapest, candidates[c], candidates[front.back()]))
      front.push_back(c);
  }
  return front;
}

std::vector<std::size_t> ranking_of(const Recommendation& recommendation) {
  const std::vector<Candidate>& candidates = recommendation.candidates;
  const Goal goal = recommendation.question.goal;
  std::vector<std::size_t> ranking;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (!meets(candidates[c])) continue;
    const auto of_cluster = std::ranges::find_if(ranking, [&](std::size_t other) {
      return candidates[other].offer == candidates[c].offer && candidates[other].nodes == candidates[c].nodes;
    });
    if (of_cluster == ranking.end()) {
      ranking.push_back(c);
    } else if (is_better(goal, candidates[c], candidates[*of_cluster])) {
      *of_cluster = c;
    }
  }
  std::ranges::stable_sort(ranking, [&](std::size_t one, std::size_t other) {
    return is_better(goal, candidates[one], candidates[other]);
  });
  return ranking;
}

// Loads the scenario with the first number of nodes on which it is not refused; throws the first refusal if
// there is none.
Scenario loaded(const Load& load, const Question& question, const ClusterOffer& offer) {
  std::exception_ptr first;
  for (const int nodes : node_counts_of(question, offer)) {
    try {
      return load(settings_of(offer, nodes));
    } catch (const ScenarioError&) {
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

// A strategy that no cluster allows is a mistake of the scenario.
void throw_if_refused_everywhere(const std::vector<ClusterJob>& jobs) {
  std::vector<std::string> messages;
  for (const RefusedStrategy& refused : jobs.front().refused) {
    const bool is_everywhere = std::ranges::all_of(jobs, [&](const ClusterJob& job) {
      return std::ranges::find(job.refused, refused.name, &RefusedStrategy::name) != job.refused.end();
    });
    if (is_everywhere) std::ranges::copy(refused.messages, std::back_inserter(messages));
  }
  if (!messages.empty()) throw ScenarioError(messages);
}

// Round by round, the clusters in the order of what they may be at best. The others cannot be better.
void simulate_until_best(const Load& load, const Question& question, const RecommendOptions& options,
                         std::span<ClusterJob* const> order, SharedWork& shared, BestSoFar& so_far) {
  std::optional<Candidate> best;
  for (std::size_t begin = 0; begin < order.size(); begin += kRound) {
    const std::span round = order.subspan(begin, std::min(kRound, order.size() - begin));
    for_each_index(round.size(), options.n_threads, [&](std::size_t j) {
      ClusterJob& job = *round[j];
      if (!question.simulates_all && best && is_better(question.goal, *best, ideal(question, job))) {
        job.candidates.push_back(cannot_be_better(job));
      } else {
        simulate(load, question, options, shared, so_far, job);
      }
    });
    for (const ClusterJob* job : round) {
      const Candidate* of_job = best_of(question.goal, job->candidates, meets);
      if (of_job != nullptr && (!best || is_better(question.goal, *of_job, *best))) best = *of_job;
    }
  }
  for (ClusterJob* job : order) {
    Candidate& first = job->candidates.front();
    if (first.standing == Standing::not_reached && first.strategy.empty() && best &&
        is_better(question.goal, *best, ideal(question, *job)))
      first = cannot_be_better(*job);
  }
}

// Those with fewer GPUs than the smallest cluster that is known to meet the question, until one of them does.
// Whether all of these were simulated.
bool simulate_until_fewest(const Load& load, const Question& question, const RecommendOptions& options,
                           std::vector<ClusterJob>& jobs, SharedWork& shared, BestSoFar& so_far) {
  std::vector<ClusterJob*> order;
  for (ClusterJob& job : jobs) order.push_back(&job);
  std::ranges::stable_sort(order, {}, [](const ClusterJob* job) { return job->n_gpus; });
  for (ClusterJob* job : order) {
    if (job->candidates.front().standing == Standing::not_simulated) {
      std::vector<Candidate> before = std::exchange(job->candidates, {});
      simulate(load, question, options, shared, so_far, *job);
      if (is_unfinished(*job)) {
        job->candidates = std::move(before);  // it cannot be better
        job->n_known = 0;
        return false;
      }
    }
    if (std::ranges::any_of(job->candidates, meets)) return true;
    if (is_unfinished(*job)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> settings_of(const ClusterOffer& offer, int nodes) {
  std::vector<std::string> settings = {fmt::format("cluster.nodes={}", nodes)};
  if (offer.is_of_scenario) return settings;
  settings.insert(settings.begin(), "cluster.type=" + nlohmann::json(offer.type).dump());
  if (offer.gpus_per_node) settings.push_back(fmt::format("cluster.gpus_per_node={}", *offer.gpus_per_node));
  if (offer.gpu_hour_price)
    settings.push_back(fmt::format("cluster.gpu_hour_price={}", *offer.gpu_hour_price));
  if (offer.spot_mtbf_hours)
    settings.push_back(fmt::format("failures.spot_mtbf_hours={}", *offer.spot_mtbf_hours));
  if (!offer.hardware.empty()) settings.push_back("hardware=" + nlohmann::json(offer.hardware).dump());
  return settings;
}

Recommendation recommend(const Load& load, const Question& question, const RecommendOptions& options) {
  if (const std::vector<std::string> mistakes = mistakes_of(question); !mistakes.empty())
    throw std::invalid_argument(fmt::format("{}", fmt::join(mistakes, "\n")));
  SharedWork shared;
  std::vector<ClusterJob> jobs;
  for (std::size_t o = 0; o < question.offers.size(); ++o)
    add_jobs(question, o, loaded(load, question, question.offers[o]).cluster.gpus_per_node, jobs);
  if (jobs.empty())
    throw std::invalid_argument("max-gpus: expected at least as many GPUs as a node has, got fewer");
  for_each_index(jobs.size(), options.n_threads, [&](std::size_t j) {
    if (options.is_over() && options.known.empty()) return;
    options.progress(
        fmt::format("bounds: {} nodes of {}", jobs[j].nodes, question.offers[jobs[j].offer].type));
    try {
      const Scenario scenario = load(settings_of(question.offers[jobs[j].offer], jobs[j].nodes));
      if (scenario.mixing) {
        throw std::invalid_argument(
            scenario.path +
            ": /mixing: expected none for recommend, which does not count what rewards cost; "
            "sweep simulates a mixture on clusters");
      }
      jobs[j].refused = scenario.refused_strategies;
      const auto data = shared.data(scenario);
      jobs[j].hash = job_hash(scenario, *data, options.version);
      if (options.is_over()) return;
      jobs[j].least = least_work(scenario, shared);
      constexpr bool kAtOpLevel = false;
      jobs[j].work_s = estimated_work_s(scenario, data->drawn.lengths_tokens, kAtOpLevel);
    } catch (const ScenarioError&) {
      // The same is the result of the cluster's simulation.
    }
  });

  throw_if_refused_everywhere(jobs);

  double most_work_s = 0;
  std::vector<ClusterJob*> order;
  for (ClusterJob& job : jobs) {
    const std::string exceeded = question.simulates_all ? "" : limit_exceeded(question, job);
    if (exceeded.empty()) {
      order.push_back(&job);
      if (!known_of(job, question, options).is_whole) most_work_s += job.work_s;
    } else {
      job.candidates.push_back(job.without_run(Standing::ruled_out, exceeded));
    }
  }
  // Of equal bounds on what they cost, small clusters come nearest.
  std::ranges::stable_sort(order, {}, [&](const ClusterJob* job) {
    const CandidateTimes times = *ideal(question, *job).times;
    return question.goal == Goal::cheapest ? std::pair<double, double>(times.cost(), job->n_gpus)
                                           : std::pair(times.wall_hours, times.cost());
  });
  options.estimated(most_work_s);
  BestSoFar so_far(question);
  simulate_until_best(load, question, options, order, shared, so_far);
  const bool knows_fewest = simulate_until_fewest(load, question, options, jobs, shared, so_far);

  Recommendation found{
      .question = question, .candidates = {}, .ranking = {}, .pareto = {}, .fewest_gpus = {}, .report = {}};
  found.is_complete = knows_fewest && std::ranges::none_of(jobs, is_unfinished);
  for (ClusterJob& job : jobs) {
    found.n_known += job.n_known;
    std::ranges::move(job.candidates, std::back_inserter(found.candidates));
  }
  for (const Candidate& candidate : found.candidates) {
    if (meets(candidate) && (!found.fewest_gpus || candidate.n_gpus < *found.fewest_gpus))
      found.fewest_gpus = candidate.n_gpus;
  }
  found.ranking = ranking_of(found);
  found.pareto = pareto_of(found.candidates);
  if (!found.ranking.empty()) {
    const Candidate& winner = found.candidates[found.ranking.front()];
    const auto job = std::ranges::find_if(
        jobs, [&](const ClusterJob& of) { return of.offer == winner.offer && of.nodes == winner.nodes; });
    // Its results are there, unless they are an earlier answer's. Where time was over, no strategy is
    // simulated that neither answer reached.
    Scenario scenario = load(settings_of(question.offers[job->offer], job->nodes));
    if (!found.is_complete && job->n_known > 0) keep_reached(scenario, found.candidates, winner);
    found.report = report_of(scenario, shared, [&] { return !found.is_complete && job->n_known == 0; });
  }
  return found;
}

std::optional<std::size_t> best_of_cluster(const Recommendation& recommendation, std::size_t offer,
                                           int nodes) {
  std::optional<std::size_t> best;
  for (std::size_t c = 0; c < recommendation.candidates.size(); ++c) {
    const Candidate& candidate = recommendation.candidates[c];
    if (candidate.offer != offer || candidate.nodes != nodes || !candidate.is_comparable()) continue;
    if (!best || is_better(recommendation.question.goal, candidate, recommendation.candidates[*best]))
      best = c;
  }
  return best;
}

}  // namespace packsim
