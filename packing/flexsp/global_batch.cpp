#include "packing/flexsp/global_batch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>

#include "packing/algorithms/shuffle.hpp"
#include "packing/flexsp/buckets.hpp"
#include "packing/flexsp/minimize_gpu_time.hpp"

namespace packsim::flexsp {
namespace {

// Sequences of a global batch with their place in the random draw, which does not depend on how the batch is
// cut.
class Draw {
 public:
  Draw(std::span<const ItemIndex> items, std::uint32_t seed) {
    std::vector<ItemIndex> order(items.begin(), items.end());
    Generator generator(seed);
    shuffle(std::span(order), generator);
    for (std::size_t i = 0; i < order.size(); ++i) places_.emplace_back(order[i], i);
    std::ranges::sort(places_);
  }
  // Sorts sequences by their places.
  void sort(std::span<ItemIndex> items) const {
    std::vector<std::pair<std::size_t, ItemIndex>> sorted;
    for (const ItemIndex item : items) sorted.emplace_back(place(item), item);
    std::ranges::sort(sorted);
    std::ranges::copy(sorted | std::views::values, items.begin());
  }

 private:
  std::size_t place(ItemIndex item) const {
    return std::ranges::lower_bound(places_, item, {}, &std::pair<ItemIndex, std::size_t>::first)->second;
  }

  std::vector<std::pair<ItemIndex, std::size_t>> places_;  // ascending
};

std::vector<std::int32_t> lengths_of(std::span<const std::int32_t> lengths,
                                     std::span<const ItemIndex> items) {
  std::vector<std::int32_t> result;
  for (const ItemIndex item : items) result.push_back(lengths[item]);
  return result;
}

// The published warm starts: the best of the homogeneous ones.
std::optional<Assignment> warm_start(const AssignmentProblem& problem) {
  std::optional<Assignment> best;
  for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
    std::optional<Assignment> start = homogeneous_start(problem, d);
    if (start && (!best || start->makespan_s < best->makespan_s)) best = std::move(start);
  }
  return best;
}

// Groups to GPU ranges. They end at the last GPU: every degree divides those after it, so what follows a
// group is a multiple of its degree, whether or not GPUs stay idle at the beginning.
void place(std::vector<PlacedGroup>& groups, const Cluster& cluster) {
  std::ranges::stable_sort(groups, {}, &PlacedGroup::kind);
  int end = cluster.n_gpus;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    end -= cluster.kinds[group->kind].gpus_per_pack;
    group->first_gpu = end;
  }
}

class BatchPlanner {
 public:
  BatchPlanner(std::span<const std::int32_t> lengths, std::span<const ItemIndex> items,
               const Cluster& cluster, const BatchOptions& options, AssignmentSolver& solver)
      : lengths_(lengths),
        cluster_(cluster),
        options_(options),
        solver_(solver),
        draw_(items, options.seed),
        chunker_(lengths, items, options.order) {}

  std::size_t fewest_micro_batches() { return chunker_.fewest_chunks(cluster_.capacity_tokens()); }

  // Solves the batch in n_micro_batches, if that is possible in less than `less_than_s`.
  std::optional<BatchSolution> with_micro_batches(std::size_t n_micro_batches, double less_than_s) {
    std::vector<std::vector<ItemIndex>> parts = chunker_.chunks(n_micro_batches);
    std::vector<double> bounds_s;
    for (std::vector<ItemIndex>& part : parts) {
      std::ranges::stable_sort(part, {}, [&](ItemIndex item) { return lengths_[item]; });
      bounds_s.push_back(bound_s(part));
    }
    double rest_s = std::accumulate(bounds_s.begin(), bounds_s.end(), 0.0);
    BatchSolution solution;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (solution.time_s + rest_s >= less_than_s) return std::nullopt;
      rest_s = std::max(0.0, rest_s - bounds_s[i]);
      std::optional<std::vector<PlacedGroup>> groups = micro_batch(parts[i]);
      if (!groups) return std::nullopt;
      solution.time_s += makespan_s(*groups);
      solution.micro_batches.push_back(std::move(*groups));
    }
    if (solution.time_s >= less_than_s) return std::nullopt;
    return solution;
  }

 private:
  double bound_s(std::span<const ItemIndex> ascending) const {
    std::vector<std::size_t> ends(ascending.size());
    std::iota(ends.begin(), ends.end(), std::size_t{1});
    return makespan_bound_s(assignment_problem(lengths_of(lengths_, ascending), ends, cluster_));
  }

  double makespan_s(std::span<const PlacedGroup> groups) const {
    double slowest_s = 0;
    for (const PlacedGroup& group : groups) {
      const SequenceCost& cost = cluster_.kinds[group.kind].cost;
      slowest_s = std::max(slowest_s, cost.group_s(lengths_of(lengths_, group.items)));
    }
    return slowest_s;
  }

  std::optional<std::vector<PlacedGroup>> micro_batch(std::span<const ItemIndex> ascending) {
    const std::vector<std::int32_t> lengths = lengths_of(lengths_, ascending);
    const Bucketing bucketing = bucket_within(lengths, options_.n_buckets, cluster_.capacity_tokens());
    const AssignmentProblem problem = assignment_problem(lengths, bucketing.ends, cluster_);
    const std::optional<Assignment> assignment = solver_.solve(problem, options_.limits, warm_start(problem));
    if (!assignment) return std::nullopt;
    if (const std::string wrong = what_is_wrong(problem, *assignment); !wrong.empty()) {
      throw std::logic_error("flexsp: the solver's assignment is wrong: " + wrong);
    }
    std::vector<PlacedGroup> groups = concrete(ascending, bucketing, *assignment);
    if (options_.minimize_gpu_time) minimize_gpu_time(lengths_, cluster_, groups);
    place(groups, cluster_);
    return groups;
  }

  // Deals the sequences of each bucket out to the groups, at random.
  std::vector<PlacedGroup> concrete(std::span<const ItemIndex> ascending, const Bucketing& bucketing,
                                    const Assignment& assignment) const {
    std::vector<PlacedGroup> groups(assignment.groups.size());
    for (std::size_t p = 0; p < groups.size(); ++p) groups[p].kind = assignment.groups[p].degree;
    std::size_t begin = 0;
    for (std::size_t q = 0; q < bucketing.ends.size(); ++q) {
      std::vector<ItemIndex> bucket(ascending.begin() + static_cast<std::ptrdiff_t>(begin),
                                    ascending.begin() + static_cast<std::ptrdiff_t>(bucketing.ends[q]));
      draw_.sort(bucket);
      auto next = bucket.begin();
      for (std::size_t p = 0; p < groups.size(); ++p) {
        const auto end = next + assignment.groups[p].sequences[q];
        groups[p].items.insert(groups[p].items.end(), next, end);
        next = end;
      }
      begin = bucketing.ends[q];
    }
    return groups;
  }

  std::span<const std::int32_t> lengths_;
  const Cluster& cluster_;
  const BatchOptions& options_;
  AssignmentSolver& solver_;
  Draw draw_;
  Chunker chunker_;
};

}  // namespace

std::int64_t Cluster::capacity_tokens() const {
  std::int64_t most = 0;
  for (const Kind& kind : kinds) most = std::max(most, kind.capacity_tokens * (n_gpus / kind.gpus_per_pack));
  return most;
}

AssignmentProblem assignment_problem(std::span<const std::int32_t> ascending_tokens,
                                     std::span<const std::size_t> ends, const Cluster& cluster) {
  AssignmentProblem problem;
  problem.n_gpus = cluster.n_gpus;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    problem.buckets.push_back({ascending_tokens[end - 1], static_cast<std::int32_t>(end - begin)});
    begin = end;
  }
  for (const Cluster::Kind& kind : cluster.kinds) {
    AssignmentProblem::Degree degree{.gpus_per_pack = kind.gpus_per_pack,
                                     .capacity_tokens = kind.capacity_tokens,
                                     .fixed_s = kind.cost.fixed_s,
                                     .sequence_s = {}};
    AscendingCurve document_s(kind.cost.document_s);
    for (const AssignmentProblem::Bucket& bucket : problem.buckets) {
      degree.sequence_s.push_back(
          kind.cost.sequence_s(bucket.boundary_tokens, document_s.at(bucket.boundary_tokens)));
    }
    problem.degrees.push_back(std::move(degree));
  }
  check_problem(problem);
  return problem;
}

BatchSolution plan_global_batch(std::span<const std::int32_t> lengths_tokens,
                                std::span<const ItemIndex> items, const Cluster& cluster,
                                const BatchOptions& options, AssignmentSolver& solver) {
  if (items.empty()) return {};
  for (const ItemIndex item : items) {
    if (cluster.kinds.empty() || lengths_tokens[item] > cluster.kinds.back().capacity_tokens) {
      throw std::invalid_argument("flexsp: no group holds a sequence of " +
                                  std::to_string(lengths_tokens[item]) + " tokens");
    }
  }
  BatchPlanner planner(lengths_tokens, items, cluster, options, solver);
  std::optional<BatchSolution> best;
  const std::size_t fewest = planner.fewest_micro_batches();
  for (std::size_t n = fewest; n <= items.size(); ++n) {
    if (n >= fewest + options.micro_batch_tries && best) break;
    const double less_than_s = best ? best->time_s : std::numeric_limits<double>::infinity();
    if (std::optional<BatchSolution> found = planner.with_micro_batches(n, less_than_s)) {
      best = std::move(found);
    }
  }
  if (!best) throw std::invalid_argument("flexsp: the solver found no assignment for a global batch");
  return std::move(*best);
}

}  // namespace packsim::flexsp
