#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packing/flexsp/assignment.hpp"

namespace packsim {

/// How an integer program ended.
enum class SolveStatus {
  optimal,  ///< to the gap that is asked for
  time_limit,
  node_limit,
  local_search,  ///< no more was asked for
  infeasible,
};

/// One integer program that was solved.
struct SolveRecord {
  std::int64_t batch = 0;  ///< of which global batch; 0 is the first
  double wall_s = 0;
  SolveStatus status = SolveStatus::optimal;
  double start_s = 0;      ///< makespan of the best start; 0: there was none
  double objective_s = 0;  ///< makespan found; 0: none
  double bound_s = 0;      ///< no makespan is less
  std::int64_t n_nodes = 0;
};

struct CbcOptions {
  /// The program as the paper has it. False: the same solutions, less copies of each other, with rows that we
  /// have added and that make its relaxation tighter.
  bool published_program = false;
  /// Start from the local search where it is better than the start that solve() is given; ours.
  bool local_search = true;
  /// False: no integer program at all, which is enough for whole epochs (docs/model.md).
  bool integer_program = true;
  /// Stop where the solution is proven to be this close to the best.
  double gap_fraction = 1e-6;
};

/// FlexSP's integer program (arXiv 2412.01523, equations 17 to 22), solved by COIN-OR CBC in place of SCIP.
///
/// With a limit on nodes, or without limits, the same problem gives the same assignment; with a limit on time
/// what is found depends on the machine. A time limit is looked at between the solver's steps, so it is
/// overrun a little.
class CbcAssignmentSolver : public AssignmentSolver {
 public:
  explicit CbcAssignmentSolver(CbcOptions options = {}) : options_(options) {}

  std::optional<Assignment> solve(const AssignmentProblem& problem, const SolveLimits& limits,
                                  const std::optional<Assignment>& start) override;
  void next_batch() override { ++batch_; }

  /// Every solve so far, in order.
  const std::vector<SolveRecord>& log() const { return log_; }

 private:
  void branch_and_bound(const AssignmentProblem& problem, const SolveLimits& limits,
                        std::optional<Assignment>& best, SolveRecord& record) const;

  CbcOptions options_;
  std::vector<SolveRecord> log_;
  std::int64_t batch_ = -1;  // none yet
};

}  // namespace packsim
