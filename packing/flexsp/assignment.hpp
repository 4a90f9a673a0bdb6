#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace packsim {

/// One micro-batch as FlexSP's integer program sees it (arXiv 2412.01523, equations 17 to 22). A solution
/// says which SP groups the GPUs form, and how many sequences of each bucket every group gets, so that the
/// slowest group takes the least time.
struct AssignmentProblem {
  struct Bucket {
    std::int64_t boundary_tokens = 0;  ///< every sequence of the bucket counts with this length
    std::int32_t n_sequences = 0;
  };
  /// A kind of group, by its SP degree. The GPUs of a group hold capacity_tokens together.
  struct Degree {
    int gpus_per_pack = 1;
    std::int64_t capacity_tokens = 0;
    double fixed_s = 0;              ///< time of a group beside its sequences
    std::vector<double> sequence_s;  ///< [n_buckets], time that one sequence adds
  };
  std::vector<Bucket> buckets;  ///< in ascending order of boundary_tokens
  /// Degrees ascend; each divides the next, and the last one divides n_gpus.
  std::vector<Degree> degrees;
  int n_gpus = 1;

  bool fits(std::size_t bucket, std::size_t degree) const {
    return buckets[bucket].boundary_tokens <= degrees[degree].capacity_tokens;
  }
};

/// A solution: groups, each with at least one sequence. Together they take at most n_gpus GPUs, as in the
/// paper. The released code requires exactly n_gpus, which a micro-batch of few sequences cannot meet.
struct Assignment {
  struct Group {
    std::size_t degree = 0;               ///< position in AssignmentProblem::degrees
    std::vector<std::int32_t> sequences;  ///< [n_buckets]
  };
  std::vector<Group> groups;
  double makespan_s = 0;
};

/// Limits after which a solver stops, even if its solution is not proven to be optimal. With a time limit the
/// solution depends on the machine; with a limit on the nodes of the search tree it does not.
struct SolveLimits {
  std::optional<double> time_s = {};
  std::optional<std::int64_t> n_nodes = {};
};

class AssignmentSolver {
 public:
  AssignmentSolver() = default;
  AssignmentSolver(const AssignmentSolver&) = delete;
  AssignmentSolver& operator=(const AssignmentSolver&) = delete;
  virtual ~AssignmentSolver() = default;
  /// Returns the best assignment that it finds within the limits, or none if it finds none. `start` is a
  /// known assignment that it should improve on.
  virtual std::optional<Assignment> solve(const AssignmentProblem& problem, const SolveLimits& limits,
                                          const std::optional<Assignment>& start) = 0;
  /// Tells the solver that the following problems belong to the next global batch. Only solvers that keep a
  /// log need to know.
  virtual void next_batch() {}
};

/// Seconds that one group takes.
double group_s(const AssignmentProblem& problem, const Assignment::Group& group);

/// Tokens of one group, each sequence counted with the boundary of its bucket.
std::int64_t group_tokens(const AssignmentProblem& problem, const Assignment::Group& group);

/// Throws std::invalid_argument unless the problem is well formed.
void check_problem(const AssignmentProblem& problem);

/// Says what is wrong with a solution, or "" if it is correct. It is wrong if a sequence is missing or
/// assigned twice, a group is empty or over its capacity, the groups take more GPUs than there are, or
/// makespan_s is not the time of the slowest group.
std::string what_is_wrong(const AssignmentProblem& problem, const Assignment& assignment);

/// FlexSP's published warm start: all GPUs form groups of one degree, and each sequence, longest boundary
/// first, goes to the group with the fewest tokens. Returns none if that exceeds the capacity of a group.
/// (After each sequence, the published code forgets the group that it has just filled; that looks unintended
/// and is not repeated.)
std::optional<Assignment> homogeneous_start(const AssignmentProblem& problem, std::size_t degree);

/// A lower bound on the makespan of all assignments, found without a solver. It is the larger of two bounds.
/// The first is the most that any sequence takes on its best group, together with the cheapest tokens of
/// others that must go to that group because all groups together have little capacity to spare. The second is
/// the GPU-seconds of all sequences at their cheapest degrees, spread over all GPUs. These bounds are ours,
/// not FlexSP's.
double makespan_bound_s(const AssignmentProblem& problem);

}  // namespace packsim
