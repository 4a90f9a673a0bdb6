#include "planning/solver/cbc_assignment_solver.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "packing/algorithms/shuffle.hpp"
#include "packing/flexsp/buckets.hpp"
#include "packing/flexsp/global_batch.hpp"
#include "packing/flexsp/local_search.hpp"
#include "planning/solver/assignment_program.hpp"

namespace packsim::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Lengths = std::vector<std::int32_t>;

flexsp::Cluster cluster_of(int n_gpus, std::int64_t gpu_tokens, const std::vector<int>& degrees) {
  flexsp::Cluster cluster{.kinds = {}, .n_gpus = n_gpus};
  for (const int degree : degrees) {
    cluster.kinds.push_back(
        {degree, gpu_tokens * degree, flexsp::published_cost(flexsp::kPublishedModels[0], degree)});
  }
  return cluster;
}

AssignmentProblem random_problem(Generator& generator, std::size_t n_sequences, std::size_t n_buckets,
                                 const flexsp::Cluster& cluster, std::uint32_t longest) {
  Lengths lengths(n_sequences);
  for (std::int32_t& length : lengths)
    length = static_cast<std::int32_t>(1 + uniform_up_to(generator, longest));
  std::ranges::sort(lengths);
  const flexsp::Bucketing bucketing = flexsp::bucket_lengths(lengths, std::min(n_buckets, n_sequences));
  return assignment_problem(lengths, bucketing.ends, cluster);
}

// The best of every way to give every sequence, one after another, to a group that is there or to a new one.
class BruteForce {
 public:
  explicit BruteForce(const AssignmentProblem& problem) : problem_(problem) {
    for (std::size_t q = 0; q < problem.buckets.size(); ++q) {
      buckets_.insert(buckets_.end(), static_cast<std::size_t>(problem.buckets[q].n_sequences), q);
    }
  }

  double makespan_s() {
    place(0);
    return best_s_;
  }

 private:
  void place(std::size_t next) {
    if (next == buckets_.size()) {
      double slowest_s = 0;
      for (const Assignment::Group& group : groups_)
        slowest_s = std::max(slowest_s, group_s(problem_, group));
      best_s_ = std::min(best_s_, slowest_s);
      return;
    }
    const std::size_t q = buckets_[next];
    for (std::size_t p = 0; p < groups_.size(); ++p) {
      ++groups_[p].sequences[q];
      if (group_tokens(problem_, groups_[p]) <= problem_.degrees[groups_[p].degree].capacity_tokens) {
        place(next + 1);
      }
      --groups_[p].sequences[q];
    }
    for (std::size_t d = 0; d < problem_.degrees.size(); ++d) {
      const int degree = problem_.degrees[d].gpus_per_pack;
      if (n_gpus_ + degree > problem_.n_gpus || !problem_.fits(q, d)) continue;
      Assignment::Group group{.degree = d, .sequences = std::vector<std::int32_t>(problem_.buckets.size())};
      group.sequences[q] = 1;
      groups_.push_back(std::move(group));
      n_gpus_ += degree;
      place(next + 1);
      n_gpus_ -= degree;
      groups_.pop_back();
    }
  }

  const AssignmentProblem& problem_;
  std::vector<std::size_t> buckets_;  // of each sequence
  std::vector<Assignment::Group> groups_;
  int n_gpus_ = 0;
  double best_s_ = kInfinity;
};

std::optional<Assignment> best_start(const AssignmentProblem& problem) {
  std::optional<Assignment> best;
  for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
    const std::optional<Assignment> start = homogeneous_start(problem, d);
    if (start && (!best || start->makespan_s < best->makespan_s)) best = start;
  }
  return best;
}

// A problem that takes the solver long: few sequences of all lengths on many GPUs.
AssignmentProblem hard_problem() {
  Generator generator(9);
  return random_problem(generator, 45, 16, cluster_of(32, 16384, {1, 2, 4, 8}), 16000);
}

// What a call writes to the process's standard output.
std::string printed_by(const std::function<void()>& call) {
  std::fflush(stdout);
  const int terminal = dup(1);
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  dup2(fileno(file), 1);
  call();
  std::fflush(stdout);
  dup2(terminal, 1);
  close(terminal);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("the integer program finds what trying everything finds, as published and with our rows") {
  Generator generator(1);
  int n_infeasible = 0;
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::size_t n = 1 + uniform_up_to(generator, 5);
    const flexsp::Cluster cluster = cluster_of(4, 4096, {1, 2, 4});
    const AssignmentProblem problem =
        random_problem(generator, n, 1 + uniform_up_to(generator, 5), cluster, 7000);
    const double best_s = BruteForce(problem).makespan_s();
    CHECK(makespan_bound_s(problem) <= best_s * (1 + 1e-12));
    for (const bool published : {false, true}) {
      for (const bool searched : {false, true}) {
        INFO("repeat " << repeat << " published " << published << " local search " << searched);
        CbcAssignmentSolver solver({.published_program = published, .local_search = searched});
        const std::optional<Assignment> found = solver.solve(problem, {}, best_start(problem));
        REQUIRE(solver.log().size() == 1);
        const SolveRecord& record = solver.log().front();
        if (best_s == kInfinity) {
          CHECK(!found);
          CHECK(record.status == SolveStatus::infeasible);
          CHECK(record.objective_s == 0);
          ++n_infeasible;
          continue;
        }
        // The published pruning gives every sequence of the widest kind a group of its own, so that two of
        // them cannot share one: it may miss the best, or everything.
        if (published && virtual_groups(problem, true) != virtual_groups(problem, false)) continue;
        REQUIRE(found);
        CHECK(what_is_wrong(problem, *found) == "");
        CHECK(found->makespan_s == Approx(best_s).epsilon(1e-5));
        CHECK(record.status == SolveStatus::optimal);
        CHECK(record.objective_s == found->makespan_s);
        CHECK(record.bound_s <= record.objective_s);
        CHECK(record.bound_s == Approx(best_s).epsilon(1e-5));
      }
    }
  }
  CHECK(n_infeasible > 0);
}

TEST_CASE("virtual groups are as many as GPUs allow, less what the longest sequences take") {
  // Sequences of 5000 and 6000 tokens need two GPUs of 4096 each.
  const flexsp::Cluster cluster = cluster_of(8, 4096, {1, 2, 4});
  const Lengths lengths = {100, 200, 2500, 5000, 6000};
  const std::vector<std::size_t> ends = {1, 2, 3, 4, 5};
  const AssignmentProblem problem = assignment_problem(lengths, ends, cluster);
  // Two groups of two leave four GPUs; by tokens, 11000 need two groups of 8192, the same.
  CHECK(virtual_groups(problem, true) == std::vector<int>{4, 4, 2});
  CHECK(virtual_groups(problem, false) == std::vector<int>{4, 4, 2});
  // Five that need two GPUs: published, 8 - 10 < 0 leave none of one GPU; by tokens 21000 need three groups.
  const Lengths many = {4200, 4200, 4200, 4200, 4200};
  const AssignmentProblem crowded = assignment_problem(many, std::vector<std::size_t>{5}, cluster);
  CHECK(virtual_groups(crowded, true) == std::vector<int>{0, 4, 2});
  CHECK(virtual_groups(crowded, false) == std::vector<int>{2, 4, 2});
}

TEST_CASE("columns of an assignment are a solution of the program, and give the assignment back") {
  Generator generator(2);
  int n_starts = 0;
  for (int repeat = 0; repeat < 40; ++repeat) {
    const AssignmentProblem problem = random_problem(generator, 15, 6, cluster_of(16, 4096, {1, 2, 4}), 6000);
    for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
      const std::optional<Assignment> start = homogeneous_start(problem, d);
      if (!start) continue;
      ++n_starts;
      for (const bool published : {false, true}) {
        const AssignmentProgram program(problem, start, published);
        const std::vector<double> columns = program.columns(*start);
        for (std::size_t c = 0; c < columns.size(); ++c) CHECK(columns[c] <= program.program().upper[c]);
        for (const IntegerProgram::Row& row : program.program().rows) {
          double sum = 0;
          for (std::size_t i = 0; i < row.columns.size(); ++i) {
            sum += row.factors[i] * columns[static_cast<std::size_t>(row.columns[i])];
          }
          CHECK(sum >= row.lower - 1e-9);
          CHECK(sum <= row.upper + 1e-9);
        }
        CHECK(what_is_wrong(problem, program.assignment(columns.data())) == "");
        CHECK(program.assignment(columns.data()).makespan_s == Approx(start->makespan_s).epsilon(1e-12));
      }
    }
  }
  CHECK(n_starts > 40);
}

TEST_CASE("what is found is no worse than the start, however little may be searched") {
  Generator generator(3);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const AssignmentProblem problem = random_problem(generator, 15, 8, cluster_of(16, 4096, {1, 2, 4}), 6000);
    const std::optional<Assignment> start = best_start(problem);
    REQUIRE(start);
    for (const bool published : {false, true}) {
      CbcAssignmentSolver solver({.published_program = published, .local_search = false});
      const std::optional<Assignment> found = solver.solve(problem, {.n_nodes = 1}, start);
      REQUIRE(found);
      CHECK(what_is_wrong(problem, *found) == "");
      CHECK(found->makespan_s <= start->makespan_s);
      CHECK(solver.log()[0].start_s == start->makespan_s);
    }
  }
}

TEST_CASE("a limit on nodes is kept, and gives the same assignment again") {
  const AssignmentProblem problem = hard_problem();
  const auto solve = [&](CbcAssignmentSolver& solver) {
    const std::optional<Assignment> found = solver.solve(problem, {.n_nodes = 20}, best_start(problem));
    REQUIRE(found);
    return *found;
  };
  CbcAssignmentSolver solver;
  const Assignment once = solve(solver);
  const Assignment twice = solve(solver);
  REQUIRE(solver.log().size() == 2);
  for (const SolveRecord& record : solver.log()) {
    CHECK(record.status == SolveStatus::node_limit);
    CHECK(record.n_nodes <= 21);
    CHECK(record.bound_s < record.objective_s);
    CHECK(record.wall_s > 0);
  }
  CHECK(once.makespan_s == twice.makespan_s);
  REQUIRE(once.groups.size() == twice.groups.size());
  for (std::size_t p = 0; p < once.groups.size(); ++p) {
    CHECK(once.groups[p].degree == twice.groups[p].degree);
    CHECK(once.groups[p].sequences == twice.groups[p].sequences);
  }
}

TEST_CASE("a limit on time ends the search") {
  CbcAssignmentSolver solver;
  const AssignmentProblem problem = hard_problem();
  REQUIRE(solver.solve(problem, {.time_s = 0.1}, best_start(problem)));
  CHECK(solver.log()[0].status == SolveStatus::time_limit);
}

TEST_CASE("without the integer program the local search's assignment is taken, and says so") {
  const AssignmentProblem problem = hard_problem();
  CbcAssignmentSolver solver({.integer_program = false});
  const std::optional<Assignment> found = solver.solve(problem, {}, best_start(problem));
  REQUIRE(found);
  CHECK(found->makespan_s == local_search(problem)->makespan_s);
  CHECK(solver.log()[0].status == SolveStatus::local_search);
  CHECK(solver.log()[0].n_nodes == 0);
}

TEST_CASE("CBC says nothing on standard output") {
  const AssignmentProblem problem = hard_problem();
  for (const bool published : {false, true}) {
    CbcAssignmentSolver solver({.published_program = published});
    CHECK(printed_by([&] { solver.solve(problem, {.n_nodes = 5}, best_start(problem)); }) == "");
  }
  CHECK(printed_by([] { std::printf("heard"); }) == "heard");
}

}  // namespace packsim::testing
