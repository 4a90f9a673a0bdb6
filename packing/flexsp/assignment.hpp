#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace packsim {

/// One micro-batch for FlexSP's integer program (arXiv 2412.01523, equations 17 to 22): which SP groups the
/// GPUs form, and how many sequences of each bucket every group gets, so that the slowest group is as fast as
/// can be.
struct AssignmentProblem {
  struct Bucket {
    std::int64_t boundary_tokens = 0;  ///< each of its sequences counts as long as this
    std::int32_t n_sequences = 0;
  };
  /// A kind of group. Its GPUs hold capacity_tokens together.
  struct Degree {
    int gpus_per_pack = 1;
    std::int64_t capacity_tokens = 0;
    double fixed_s = 0;              ///< of a group that has something to do
    std::vector<double> sequence_s;  ///< [n_buckets], of one sequence
  };
  std::vector<Bucket> buckets;  ///< ascending boundary
  std::vector<Degree> degrees;  ///< ascending; each divides the next, and the last the number of GPUs
  int n_gpus = 1;

  bool fits(std::size_t bucket, std::size_t degree) const {
    return buckets[bucket].boundary_tokens <= degrees[degree].capacity_tokens;
  }
};

/// Groups that all have something to do. Their GPUs are at most those that there are: the paper's
/// constraint. The released code asks for equality, which a micro-batch of few sequences cannot meet.
struct Assignment {
  struct Group {
    std::size_t degree = 0;               ///< position in AssignmentProblem::degrees
    std::vector<std::int32_t> sequences;  ///< [n_buckets]
  };
  std::vector<Group> groups;
  double makespan_s = 0;
};

/// When to stop before the best solution is proven. A time limit makes what is found depend on the machine; a
/// limit on nodes of the search tree does not.
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
  /// The best assignment that it found within the limits; none where there is none or it found none. `start`
  /// is one to do better than.
  virtual std::optional<Assignment> solve(const AssignmentProblem& problem, const SolveLimits& limits,
                                          const std::optional<Assignment>& start) = 0;
  /// Says that what is solved from here on is of the next global batch, for those who keep count.
  virtual void next_batch() {}
};

/// Seconds of one group.
double group_s(const AssignmentProblem& problem, const Assignment::Group& group);

/// Tokens of one group, by boundaries.
std::int64_t group_tokens(const AssignmentProblem& problem, const Assignment::Group& group);

/// Throws std::invalid_argument unless the problem is well formed.
void check_problem(const AssignmentProblem& problem);

/// What is wrong with a solution, or "": a sequence too many or too few, a group over its capacity or with
/// nothing to do, more GPUs than there are, or another makespan than it says.
std::string what_is_wrong(const AssignmentProblem& problem, const Assignment& assignment);

/// Published warm start: as many groups of one degree as there are GPUs for; longest boundary first to the
/// group with the fewest tokens. None where that overfills a group. (The published code forgets, after each
/// sequence, the group that it has just filled; that looks unintended and is not repeated.)
std::optional<Assignment> homogeneous_start(const AssignmentProblem& problem, std::size_t degree);

/// No assignment is faster, and it takes no solver to know. The most of: each sequence on its best group,
/// with as many tokens of others, at their cheapest, as must go there because all groups together have only
/// so much room to spare; and all sequences at their cheapest in GPU-seconds spread over all GPUs. Ours.
double makespan_bound_s(const AssignmentProblem& problem);

}  // namespace packsim
