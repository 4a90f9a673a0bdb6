#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packing/flexsp/assignment.hpp"

namespace packsim {

/// A mixed integer program: minimise column 0, all columns >= 0.
struct IntegerProgram {
  struct Row {
    double lower = 0;
    double upper = 0;
    std::vector<int> columns;
    std::vector<double> factors;
  };
  std::vector<double> upper;  ///< [n_columns], of each column
  std::vector<Row> rows;      ///< every column but 0 is an integer
};

/// FlexSP's program for an assignment: virtual groups that may be used or not, the sequences of each bucket
/// in each group, and the makespan, which is column 0.
class AssignmentProgram {
 public:
  /// start: its makespan bounds the time of every group that is worth having (not as `published`).
  AssignmentProgram(const AssignmentProblem& problem, const std::optional<Assignment>& start, bool published);

  const IntegerProgram& program() const { return program_; }
  std::size_t n_columns() const { return program_.upper.size(); }
  /// The columns of an assignment, and the assignment of columns.
  std::vector<double> columns(const Assignment& assignment) const;
  Assignment assignment(const double* columns) const;

 private:
  static constexpr int kNoColumn = -1;

  void add_groups(const std::optional<Assignment>& start, bool published);
  void add_columns(double most_s, bool published);
  void add_published_rows();
  void add_tight_rows(double most_s);
  void add_bucket_rows();
  void add_gpu_row();
  int used_column(std::size_t group) const { return static_cast<int>(1 + group); }
  int sequences_column(std::size_t group, std::size_t bucket) const {
    return sequences_[group * problem_.buckets.size() + bucket];
  }

  const AssignmentProblem& problem_;
  std::vector<std::size_t> degree_;  // [n_groups] of the virtual groups, ascending
  std::vector<int> sequences_;       // [n_groups * n_buckets] column, or kNoColumn
  IntegerProgram program_;
};

/// Number of virtual groups of each degree: as many as there are GPUs for. Groups of smaller degree than the
/// longest sequences need leave GPUs for these. Published: a group for each, which forbids two of them in one
/// group. Ours (not `published`): as many groups as their tokens need.
std::vector<int> virtual_groups(const AssignmentProblem& problem, bool published);

}  // namespace packsim
