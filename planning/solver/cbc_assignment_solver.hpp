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
  local_search,  ///< no integer program was asked for
  infeasible,
};

/// One integer program that was solved.
struct SolveRecord {
  std::int64_t batch = 0;  ///< index of the global batch that it plans
  double wall_s = 0;
  SolveStatus status = SolveStatus::optimal;
  double start_s = 0;      ///< makespan of the best start; 0: there was none
  double objective_s = 0;  ///< makespan found; 0: none
  double bound_s = 0;      ///< no makespan is less
  std::int64_t n_nodes = 0;
};

struct CbcOptions {
  /// Whether to solve the program as the paper states it. Otherwise solutions that only permute equal groups
  /// are excluded, and added rows make the relaxation tighter; the optimum is the same.
  bool published_program = false;
  /// Start from the local search where it is better than the start that solve() is given. The paper does not.
  bool local_search = true;
  /// Whether to solve integer programs at all. The local search alone is enough for whole epochs
  /// (docs/model.md).
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
