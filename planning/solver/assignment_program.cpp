#include "planning/solver/assignment_program.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace packsim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void add(IntegerProgram::Row& row, int column, double factor) {
  if (column < 0) return;
  row.columns.push_back(column);
  row.factors.push_back(factor);
}

// The least degree that holds a bucket's sequences, as a position.
std::size_t least_degree(const AssignmentProblem& problem, std::size_t bucket) {
  std::size_t d = 0;
  while (d + 1 < problem.degrees.size() && !problem.fits(bucket, d)) ++d;
  return d;
}

}  // namespace

std::vector<int> virtual_groups(const AssignmentProblem& problem, bool published) {
  const std::size_t widest = least_degree(problem, problem.buckets.size() - 1);
  std::int64_t n_wide = 0;
  std::int64_t wide_tokens = 0;
  for (std::size_t q = 0; q < problem.buckets.size(); ++q) {
    if (least_degree(problem, q) != widest) continue;
    n_wide += problem.buckets[q].n_sequences;
    wide_tokens += problem.buckets[q].n_sequences * problem.buckets[q].boundary_tokens;
  }
  const int wide_degree = problem.degrees[widest].gpus_per_pack;
  std::int64_t most_per_wide = 1;  // tokens on the GPUs of one group of that degree
  for (std::size_t d = widest; d < problem.degrees.size(); ++d) {
    const AssignmentProblem::Degree& degree = problem.degrees[d];
    most_per_wide = std::max(most_per_wide, degree.capacity_tokens * wide_degree / degree.gpus_per_pack);
  }
  const std::int64_t n_wide_groups = published ? n_wide : (wide_tokens + most_per_wide - 1) / most_per_wide;
  std::vector<int> n_groups;
  for (std::size_t d = 0; d < problem.degrees.size(); ++d) {
    const std::int64_t taken = d < widest ? n_wide_groups * wide_degree : 0;
    const std::int64_t gpus = std::max<std::int64_t>(0, problem.n_gpus - taken);
    n_groups.push_back(static_cast<int>(gpus / problem.degrees[d].gpus_per_pack));
  }
  return n_groups;
}

AssignmentProgram::AssignmentProgram(const AssignmentProblem& problem, const std::optional<Assignment>& start,
                                     bool published)
    : problem_(problem) {
  const double most_s = start && !published ? start->makespan_s : kInfinity;
  add_groups(start, published);
  add_columns(most_s, published);
  add_bucket_rows();
  if (published) {
    add_published_rows();
  } else {
    add_tight_rows(most_s);
  }
  add_gpu_row();
}

void AssignmentProgram::add_groups(const std::optional<Assignment>& start, bool published) {
  std::vector<int> n_groups = virtual_groups(problem_, published);
  if (start) {  // it may have more groups of a degree than pruning leaves
    std::vector<int> of_start(n_groups.size(), 0);
    for (const Assignment::Group& group : start->groups) ++of_start[group.degree];
    for (std::size_t d = 0; d < n_groups.size(); ++d) n_groups[d] = std::max(n_groups[d], of_start[d]);
  }
  for (std::size_t d = 0; d < n_groups.size(); ++d) {
    degree_.insert(degree_.end(), static_cast<std::size_t>(n_groups[d]), d);
  }
}

void AssignmentProgram::add_columns(double most_s, bool published) {
  program_.upper.assign(1 + degree_.size(), 1);
  program_.upper[0] = kInfinity;
  sequences_.assign(degree_.size() * problem_.buckets.size(), kNoColumn);
  for (std::size_t p = 0; p < degree_.size(); ++p) {
    const AssignmentProblem::Degree& degree = problem_.degrees[degree_[p]];
    for (std::size_t q = 0; q < problem_.buckets.size(); ++q) {
      // What the paper fixes at A_qp = 0 has no column; in our program, nor has what would take too long
      // alone.
      if (!problem_.fits(q, degree_[p])) continue;
      if (degree.fixed_s + degree.sequence_s[q] > most_s) continue;
      sequences_[p * problem_.buckets.size() + q] = static_cast<int>(program_.upper.size());
      std::int64_t most = problem_.buckets[q].n_sequences;
      if (!published && problem_.buckets[q].boundary_tokens > 0) {
        most = std::min(most, degree.capacity_tokens / problem_.buckets[q].boundary_tokens);
      }
      program_.upper.push_back(static_cast<double>(most));
    }
  }
}

void AssignmentProgram::add_bucket_rows() {
  for (std::size_t q = 0; q < problem_.buckets.size(); ++q) {
    const double n = problem_.buckets[q].n_sequences;
    IntegerProgram::Row row{.lower = n, .upper = n, .columns = {}, .factors = {}};
    for (std::size_t p = 0; p < degree_.size(); ++p) add(row, sequences_column(p, q), 1);
    program_.rows.push_back(std::move(row));
  }
}

void AssignmentProgram::add_gpu_row() {
  IntegerProgram::Row row{
      .lower = -kInfinity, .upper = static_cast<double>(problem_.n_gpus), .columns = {}, .factors = {}};
  for (std::size_t p = 0; p < degree_.size(); ++p) {
    add(row, used_column(p), problem_.degrees[degree_[p]].gpus_per_pack);
  }
  program_.rows.push_back(std::move(row));
}

// Equations 18 to 21: capacity, time, and m_p <= sum A_qp <= K m_p.
void AssignmentProgram::add_published_rows() {
  double n_sequences = 0;
  for (const AssignmentProblem::Bucket& bucket : problem_.buckets) n_sequences += bucket.n_sequences;
  for (std::size_t p = 0; p < degree_.size(); ++p) {
    const AssignmentProblem::Degree& degree = problem_.degrees[degree_[p]];
    IntegerProgram::Row tokens{-kInfinity, static_cast<double>(degree.capacity_tokens), {}, {}};
    IntegerProgram::Row time{-kInfinity, -degree.fixed_s, {}, {}};
    IntegerProgram::Row at_least{0, kInfinity, {}, {}};
    IntegerProgram::Row at_most{-kInfinity, 0, {}, {}};
    add(time, 0, -1);
    add(at_least, used_column(p), -1);
    add(at_most, used_column(p), -n_sequences);
    for (std::size_t q = 0; q < problem_.buckets.size(); ++q) {
      const int column = sequences_column(p, q);
      add(tokens, column, static_cast<double>(problem_.buckets[q].boundary_tokens));
      add(time, column, degree.sequence_s[q]);
      add(at_least, column, 1);
      add(at_most, column, 1);
    }
    for (IntegerProgram::Row* row : {&tokens, &time, &at_least, &at_most}) {
      program_.rows.push_back(std::move(*row));
    }
  }
}

// The rows of our program. Unused groups have no capacity and, if a start bounds the makespan, no time;
// copies of a group are used in order; and all groups take no more GPU-seconds than the makespan has. The
// last makes the relaxation tight: without it, fractions of all virtual groups work at once.
void AssignmentProgram::add_tight_rows(double most_s) {
  IntegerProgram::Row gpu_seconds{-kInfinity, 0, {}, {}};
  add(gpu_seconds, 0, -problem_.n_gpus);
  for (std::size_t p = 0; p < degree_.size(); ++p) {
    const AssignmentProblem::Degree& degree = problem_.degrees[degree_[p]];
    IntegerProgram::Row tokens{-kInfinity, 0, {}, {}};
    IntegerProgram::Row time{-kInfinity, 0, {}, {}};
    IntegerProgram::Row worth{-kInfinity, 0, {}, {}};
    add(tokens, used_column(p), -static_cast<double>(degree.capacity_tokens));
    add(time, 0, -1);
    add(time, used_column(p), degree.fixed_s);
    add(worth, used_column(p), degree.fixed_s - most_s);
    add(gpu_seconds, used_column(p), degree.gpus_per_pack * degree.fixed_s);
    for (std::size_t q = 0; q < problem_.buckets.size(); ++q) {
      const int column = sequences_column(p, q);
      add(tokens, column, static_cast<double>(problem_.buckets[q].boundary_tokens));
      add(time, column, degree.sequence_s[q]);
      add(worth, column, degree.sequence_s[q]);
      add(gpu_seconds, column, degree.gpus_per_pack * degree.sequence_s[q]);
    }
    program_.rows.push_back(std::move(tokens));
    program_.rows.push_back(std::move(time));
    if (most_s < kInfinity) program_.rows.push_back(std::move(worth));
    if (p > 0 && degree_[p] == degree_[p - 1]) {
      program_.rows.push_back({0, kInfinity, {used_column(p - 1), used_column(p)}, {1, -1}});
    }
  }
  program_.rows.push_back(std::move(gpu_seconds));
  program_.rows.push_back({makespan_bound_s(problem_), kInfinity, {0}, {1}});
}

std::vector<double> AssignmentProgram::columns(const Assignment& assignment) const {
  std::vector<double> values(n_columns(), 0);
  values[0] = assignment.makespan_s;
  std::vector<std::size_t> next(problem_.degrees.size());
  for (std::size_t d = 0; d < next.size(); ++d) {
    next[d] = static_cast<std::size_t>(std::ranges::lower_bound(degree_, d) - degree_.begin());
  }
  for (const Assignment::Group& group : assignment.groups) {
    const std::size_t p = next[group.degree]++;
    values[static_cast<std::size_t>(used_column(p))] = 1;
    for (std::size_t q = 0; q < group.sequences.size(); ++q) {
      const int column = sequences_column(p, q);
      if (column != kNoColumn) values[static_cast<std::size_t>(column)] = group.sequences[q];
    }
  }
  return values;
}

Assignment AssignmentProgram::assignment(const double* values) const {
  Assignment assignment;
  for (std::size_t p = 0; p < degree_.size(); ++p) {
    Assignment::Group group{.degree = degree_[p],
                            .sequences = std::vector<std::int32_t>(problem_.buckets.size(), 0)};
    for (std::size_t q = 0; q < problem_.buckets.size(); ++q) {
      const int column = sequences_column(p, q);
      if (column != kNoColumn) group.sequences[q] = static_cast<std::int32_t>(values[column] + 0.5);
    }
    if (std::accumulate(group.sequences.begin(), group.sequences.end(), 0) == 0) continue;
    assignment.makespan_s = std::max(assignment.makespan_s, group_s(problem_, group));
    assignment.groups.push_back(std::move(group));
  }
  return assignment;
}

}  // namespace packsim
