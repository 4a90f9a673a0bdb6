// How near our own search for FlexSP's assignments comes to bounds that nothing beats. The percentages were
// measured with this code and are the same on any machine. Whoever changes the search writes the new ones
// here: fewer percent are better.

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "packing/flexsp/buckets.hpp"
#include "packing/flexsp/local_search.hpp"
#include "tests/packing/flexsp_inputs.hpp"

namespace packsim::testing {
namespace {

constexpr double kLastDigit = 1e-4;  // of the numbers below

// On d GPUs, a group takes 0.2 s, each token 1 ms / d and a twentieth of a millisecond for its exchange, and
// each pair of tokens of a sequence 0.2 us / d.
flexsp::Cluster made_up_cluster(int n_gpus, const std::vector<int>& degrees) {
  flexsp::Cluster cluster = cluster_of(n_gpus, 4096, degrees);
  for (flexsp::Cluster::Kind& kind : cluster.kinds) {
    kind.cost = {.fixed_s = 0.2,
                 .token_s = 1e-3 / kind.gpus_per_pack + (kind.gpus_per_pack > 1 ? 5e-5 : 0),
                 .squared_token_s = 2e-7 / kind.gpus_per_pack};
  }
  return cluster;
}

AssignmentProblem problem_of(Generator& generator, std::size_t n_sequences, std::uint32_t longest) {
  Lengths lengths = random_lengths(generator, n_sequences, longest);
  std::ranges::sort(lengths);
  const flexsp::Bucketing bucketing = flexsp::bucket_lengths(lengths, std::min<std::size_t>(8, n_sequences));
  return assignment_problem(lengths, bucketing.ends, made_up_cluster(16, {1, 2, 4, 8}));
}

// Every assignment, the groups of one degree in any order: the least makespan.
double least_makespan_s(const AssignmentProblem& problem, Assignment& so_far, std::size_t bucket,
                        std::int32_t n_placed, int gpus_left) {
  if (bucket == problem.buckets.size()) {
    double makespan_s = 0;
    for (const Assignment::Group& group : so_far.groups)
      makespan_s = std::max(makespan_s, group_s(problem, group));
    return makespan_s;
  }
  if (n_placed == problem.buckets[bucket].n_sequences)
    return least_makespan_s(problem, so_far, bucket + 1, 0, gpus_left);
  double least_s = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < so_far.groups.size(); ++g) {
    const std::int64_t tokens =
        group_tokens(problem, so_far.groups[g]) + problem.buckets[bucket].boundary_tokens;
    if (tokens > problem.degrees[so_far.groups[g].degree].capacity_tokens) continue;
    ++so_far.groups[g].sequences[bucket];
    least_s = std::min(least_s, least_makespan_s(problem, so_far, bucket, n_placed + 1, gpus_left));
    --so_far.groups[g].sequences[bucket];
  }
  for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
    if (problem.degrees[d].gpus_per_pack > gpus_left || !problem.fits(bucket, d)) continue;
    so_far.groups.push_back({d, std::vector<std::int32_t>(problem.buckets.size())});
    ++so_far.groups.back().sequences[bucket];
    const int left = gpus_left - problem.degrees[d].gpus_per_pack;
    least_s = std::min(least_s, least_makespan_s(problem, so_far, bucket, n_placed + 1, left));
    so_far.groups.pop_back();
  }
  return least_s;
}

// The slower of two groups after one gives a sequence of bucket `give` and gets one of `take`; if these are
// the same, it gets none. Infinite where a group cannot hold that.
double exchanged_s(const AssignmentProblem& problem, Assignment::Group from, Assignment::Group to,
                   std::size_t give, std::size_t take) {
  --from.sequences[give];
  ++to.sequences[give];
  if (take != give) {
    ++from.sequences[take];
    --to.sequences[take];
  }
  for (const Assignment::Group& group : {from, to}) {
    if (std::ranges::min(group.sequences) < 0 ||
        group_tokens(problem, group) > problem.degrees[group.degree].capacity_tokens)
      return std::numeric_limits<double>::infinity();
  }
  return std::max(group_s(problem, from), group_s(problem, to));
}

}  // namespace

TEST_CASE("the local search is at the best of all assignments for most problems of up to seven sequences") {
  Generator generator(11);
  int n_best = 0;
  double excess = 0;
  constexpr int kProblems = 400;
  for (int i = 0; i < kProblems; ++i) {
    Lengths lengths = random_lengths(generator, 1 + uniform_up_to(generator, 6), 4000);
    std::ranges::sort(lengths);
    const flexsp::Bucketing bucketing = flexsp::bucket_lengths(
        lengths, 1 + uniform_up_to(generator, static_cast<std::uint32_t>(lengths.size() - 1)));
    const AssignmentProblem problem =
        assignment_problem(lengths, bucketing.ends, made_up_cluster(4, {1, 2, 4}));
    Assignment none;
    const double best_s = least_makespan_s(problem, none, 0, 0, 4);
    const std::optional<Assignment> found = local_search(problem);
    CAPTURE(i);
    REQUIRE(found.has_value() == (best_s < std::numeric_limits<double>::infinity()));
    if (!found) continue;
    CHECK(what_is_wrong(problem, *found) == "");
    CHECK(found->makespan_s >= best_s * (1 - 1e-9));
    n_best += found->makespan_s <= best_s * (1 + 1e-9) ? 1 : 0;
    excess += 100 * (found->makespan_s / best_s - 1);
  }
  CHECK(n_best == 347);
  CHECK(excess / kProblems == Approx(0.0378).margin(kLastDigit));
}

TEST_CASE("the local search stays near the bound of larger problems") {
  Generator generator(12);
  double excess = 0;
  double loose = 0;
  int n = 0;
  for (int i = 0; i < 200; ++i) {
    const AssignmentProblem problem = problem_of(generator, 6 + uniform_up_to(generator, 34), 4500);
    const std::optional<Assignment> found = local_search(problem);
    if (!found) continue;
    CHECK(what_is_wrong(problem, *found) == "");
    ++n;
    const double bound_s = makespan_bound_s(problem);
    excess += 100 * (found->makespan_s / bound_s - 1);
    // With a gap of 50 % it may stop sooner.
    loose += 100 * (local_search(problem, 0.5)->makespan_s / bound_s - 1);
  }
  CHECK(n == 128);
  CHECK(excess / n == Approx(10.8780).margin(kLastDigit));
  CHECK(loose / n == Approx(15.7823).margin(kLastDigit));
}

TEST_CASE("after balancing, no exchange of a sequence makes the slowest group and another faster") {
  Generator generator(13);
  int n_starts = 0;
  double gain = 0;
  for (int i = 0; i < 150; ++i) {
    const AssignmentProblem problem = problem_of(generator, 5 + uniform_up_to(generator, 40), 4500);
    for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
      std::optional<Assignment> assignment = homogeneous_start(problem, d);
      if (!assignment) continue;
      ++n_starts;
      const double before_s = assignment->makespan_s;
      balance(problem, *assignment);
      CHECK(what_is_wrong(problem, *assignment) == "");
      gain += 100 * (1 - assignment->makespan_s / before_s);
      const auto slowest = std::ranges::max_element(
          assignment->groups, {}, [&](const Assignment::Group& group) { return group_s(problem, group); });
      double least_s = std::numeric_limits<double>::infinity();
      for (auto other = assignment->groups.begin(); other != assignment->groups.end(); ++other) {
        if (other == slowest) continue;
        for (std::size_t give = 0; give < problem.buckets.size(); ++give) {
          for (std::size_t take = 0; take <= give; ++take)
            least_s = std::min(least_s, exchanged_s(problem, *slowest, *other, give, take));
        }
      }
      CHECK(least_s >= assignment->makespan_s * (1 - 1e-8));
    }
  }
  CHECK(n_starts == 259);
  CHECK(gain / n_starts == Approx(0.8292).margin(kLastDigit));
}

TEST_CASE("global batches take little more than their sequences at their cheapest, divided evenly") {
  Generator generator(14);
  const flexsp::Cluster cluster = made_up_cluster(16, {1, 2, 4, 8});
  LocalSearchSolver solver;
  double excess = 0;
  double gpu_excess = 0;
  std::size_t n_micro_batches = 0;
  constexpr int kBatches = 50;
  for (int i = 0; i < kBatches; ++i) {
    const Lengths lengths = random_lengths(generator, 20 + uniform_up_to(generator, 60), 9000);
    const flexsp::BatchSolution solution =
        plan_global_batch(lengths, all_items(lengths), cluster, {.seed = 7}, solver);
    double gpu_s = 0;
    for (const std::int32_t length : lengths) {
      double least_s = std::numeric_limits<double>::infinity();
      for (const flexsp::Cluster::Kind& kind : cluster.kinds) {
        if (length <= kind.capacity_tokens)
          least_s = std::min(least_s, kind.gpus_per_pack * kind.cost.sequence_s(length));
      }
      gpu_s += least_s;
    }
    excess += 100 * (solution.time_s / (gpu_s / cluster.n_gpus) - 1);
    double used_gpu_s = 0;
    for (const auto& groups : solution.micro_batches) {
      for (const flexsp::PlacedGroup& group : groups) {
        const flexsp::Cluster::Kind& kind = cluster.kinds[group.kind];
        Lengths own;
        for (const ItemIndex item : group.items) own.push_back(lengths[item]);
        used_gpu_s += kind.gpus_per_pack * kind.cost.group_s(own);
      }
    }
    gpu_excess += 100 * (used_gpu_s / gpu_s - 1);
    n_micro_batches += solution.micro_batches.size();
  }
  CHECK(excess / kBatches == Approx(12.3680).margin(kLastDigit));
  CHECK(gpu_excess / kBatches == Approx(8.6638).margin(kLastDigit));
  CHECK(n_micro_batches == 225);
}

}  // namespace packsim::testing
