#include "packing/flexsp/assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace packsim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse_problem(const std::string& what) {
  throw std::invalid_argument("assignment problem: " + what);
}

std::string group_trouble(const AssignmentProblem& problem, const Assignment::Group& group) {
  if (group.degree >= problem.degrees.size()) return "is of no degree";
  if (group.sequences.size() != problem.buckets.size()) return "has not one count a bucket";
  std::int64_t n_sequences = 0;
  for (std::size_t q = 0; q < group.sequences.size(); ++q) {
    if (group.sequences[q] < 0) return "has a negative count";
    n_sequences += group.sequences[q];
  }
  if (n_sequences == 0) return "has nothing to do";
  if (group_tokens(problem, group) > problem.degrees[group.degree].capacity_tokens) {
    return "is over its capacity";
  }
  return "";
}

// All sequences at their cheapest in GPU-seconds, spread over all GPUs.
double area_bound_s(const AssignmentProblem& problem) {
  double fixed_s = kInfinity;
  for (const AssignmentProblem::Degree& degree : problem.degrees) fixed_s = std::min(fixed_s, degree.fixed_s);
  double gpu_s = 0;
  for (std::size_t q = 0; q < problem.buckets.size(); ++q) {
    double cheapest_s = kInfinity;
    for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
      const AssignmentProblem::Degree& degree = problem.degrees[d];
      if (problem.fits(q, d)) cheapest_s = std::min(cheapest_s, degree.gpus_per_pack * degree.sequence_s[q]);
    }
    gpu_s += cheapest_s * problem.buckets[q].n_sequences;
  }
  return fixed_s + gpu_s / problem.n_gpus;
}

// Tokens that the groups of any assignment leave empty, all together, at most.
double most_room_tokens(const AssignmentProblem& problem) {
  double gpu_tokens = 0;
  for (const AssignmentProblem::Degree& degree : problem.degrees) {
    gpu_tokens = std::max(gpu_tokens, static_cast<double>(degree.capacity_tokens) / degree.gpus_per_pack);
  }
  double room_tokens = gpu_tokens * problem.n_gpus;
  for (const AssignmentProblem::Bucket& bucket : problem.buckets) {
    room_tokens -= static_cast<double>(bucket.boundary_tokens) * bucket.n_sequences;
  }
  return room_tokens;
}

// The cheapest token in a group.
double least_token_s(const AssignmentProblem& problem, const AssignmentProblem::Degree& degree) {
  double least_s = kInfinity;
  for (std::size_t q = 0; q < problem.buckets.size(); ++q) {
    const std::int64_t tokens = problem.buckets[q].boundary_tokens;
    if (tokens > 0) least_s = std::min(least_s, degree.sequence_s[q] / static_cast<double>(tokens));
  }
  return least_s == kInfinity ? 0 : least_s;
}

// Each sequence on its best group, with the company that it must have there.
double company_bound_s(const AssignmentProblem& problem) {
  const double room_tokens = most_room_tokens(problem);
  std::vector<double> token_s;
  for (const AssignmentProblem::Degree& degree : problem.degrees) {
    token_s.push_back(least_token_s(problem, degree));
  }
  double slowest_s = 0;
  for (std::size_t q = 0; q < problem.buckets.size(); ++q) {
    const auto own_tokens = static_cast<double>(problem.buckets[q].boundary_tokens);
    double best_s = kInfinity;
    for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
      if (!problem.fits(q, d)) continue;
      const AssignmentProblem::Degree& degree = problem.degrees[d];
      const double others_tokens = static_cast<double>(degree.capacity_tokens) - room_tokens - own_tokens;
      best_s =
          std::min(best_s, degree.fixed_s + degree.sequence_s[q] + token_s[d] * std::max(0.0, others_tokens));
    }
    slowest_s = std::max(slowest_s, best_s);
  }
  return slowest_s;
}

}  // namespace

double group_s(const AssignmentProblem& problem, const Assignment::Group& group) {
  const AssignmentProblem::Degree& degree = problem.degrees[group.degree];
  double time_s = degree.fixed_s;
  for (std::size_t q = 0; q < group.sequences.size(); ++q) {
    time_s += degree.sequence_s[q] * group.sequences[q];
  }
  return time_s;
}

std::int64_t group_tokens(const AssignmentProblem& problem, const Assignment::Group& group) {
  std::int64_t tokens = 0;
  for (std::size_t q = 0; q < group.sequences.size(); ++q) {
    tokens += problem.buckets[q].boundary_tokens * group.sequences[q];
  }
  return tokens;
}

void check_problem(const AssignmentProblem& problem) {
  if (problem.buckets.empty()) refuse_problem("expected at least one bucket, got none");
  if (problem.degrees.empty()) refuse_problem("expected at least one degree, got none");
  if (problem.n_gpus < 1) refuse_problem("n_gpus: expected >= 1, got " + std::to_string(problem.n_gpus));
  for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
    const AssignmentProblem::Degree& degree = problem.degrees[d];
    const bool last = d + 1 == problem.degrees.size();
    const int next = last ? problem.n_gpus : problem.degrees[d + 1].gpus_per_pack;
    if (degree.gpus_per_pack < 1 || next % degree.gpus_per_pack != 0 ||
        (!last && next == degree.gpus_per_pack)) {
      refuse_problem("expected degrees of which each divides the next, and the last the number of GPUs, got " +
             std::to_string(degree.gpus_per_pack) + " before " + std::to_string(next));
    }
    if (degree.sequence_s.size() != problem.buckets.size()) refuse_problem("expected one time a bucket and degree");
  }
}

std::string what_is_wrong(const AssignmentProblem& problem, const Assignment& assignment) {
  std::vector<std::int64_t> placed(problem.buckets.size(), 0);
  std::int64_t n_gpus = 0;
  double makespan_s = 0;
  for (std::size_t p = 0; p < assignment.groups.size(); ++p) {
    const Assignment::Group& group = assignment.groups[p];
    if (const std::string trouble = group_trouble(problem, group); !trouble.empty()) {
      return "group " + std::to_string(p) + " " + trouble;
    }
    for (std::size_t q = 0; q < placed.size(); ++q) placed[q] += group.sequences[q];
    n_gpus += problem.degrees[group.degree].gpus_per_pack;
    makespan_s = std::max(makespan_s, group_s(problem, group));
  }
  for (std::size_t q = 0; q < placed.size(); ++q) {
    if (placed[q] == problem.buckets[q].n_sequences) continue;
    return "bucket " + std::to_string(q) + " has " + std::to_string(placed[q]) + " of " +
           std::to_string(problem.buckets[q].n_sequences) + " sequences placed";
  }
  if (n_gpus > problem.n_gpus) return "it takes " + std::to_string(n_gpus) + " GPUs";
  if (std::abs(makespan_s - assignment.makespan_s) > 1e-9 * makespan_s) return "its makespan is another";
  return "";
}

std::optional<Assignment> homogeneous_start(const AssignmentProblem& problem, std::size_t degree) {
  const auto n_groups = static_cast<std::size_t>(problem.n_gpus / problem.degrees[degree].gpus_per_pack);
  const std::size_t n_buckets = problem.buckets.size();
  Assignment assignment;
  assignment.groups.assign(n_groups, {.degree = degree, .sequences = std::vector<std::int32_t>(n_buckets)});
  std::vector<std::int64_t> tokens(n_groups, 0);
  for (std::size_t q = n_buckets; q-- > 0;) {
    for (std::int32_t i = 0; i < problem.buckets[q].n_sequences; ++i) {
      const auto p = static_cast<std::size_t>(std::ranges::min_element(tokens) - tokens.begin());
      tokens[p] += problem.buckets[q].boundary_tokens;
      if (tokens[p] > problem.degrees[degree].capacity_tokens) return std::nullopt;
      ++assignment.groups[p].sequences[q];
    }
  }
  std::erase_if(assignment.groups, [](const Assignment::Group& group) {
    return std::ranges::all_of(group.sequences, [](std::int32_t n) { return n == 0; });
  });
  for (const Assignment::Group& group : assignment.groups) {
    assignment.makespan_s = std::max(assignment.makespan_s, group_s(problem, group));
  }
  return assignment;
}

double makespan_bound_s(const AssignmentProblem& problem) {
  return std::max(area_bound_s(problem), company_bound_s(problem));
}

}  // namespace packsim
