#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packing/flexsp/assignment.hpp"

namespace packsim {

/// How an integer program ended.
enum class SolveStatus {
  optimal,  ///< optimal up to CbcOptions::gap_fraction
  time_limit,
  node_limit,
  /// Only the local search ran, as integer programs are switched off.
  local_search,
  infeasible,
};

/// One integer program that was solved.
struct SolveRecord {
  std::int64_t batch = 0;  ///< index of the global batch that it plans
  double wall_s = 0;
  SolveStatus status = SolveStatus::optimal;
  double start_s = 0;      ///< makespan of the best start; 0 if there was none
  double objective_s = 0;  ///< makespan of the solution; 0 if none was found
  double bound_s = 0;      ///< lower bound on all makespans
  std::int64_t n_nodes = 0;
};

struct CbcOptions {
  /// Whether to solve the program as the paper states it. Otherwise solutions that only permute equal groups
  /// are excluded, and added rows make the relaxation tighter; the optimum is the same.
  bool published_program = false;
  /// Whether to start from the local search if that is better than the start given to solve(). The paper does
  /// not do that.
  bool local_search = true;
  /// Whether to solve integer programs at all. The local search alone is enough for whole epochs
  /// (docs/model.md).
  bool integer_program = true;
  /// The solver stops when the solution is proven to be this close to the optimum.
  double gap_fraction = 1e-6;
};

/// FlexSP's integer program (arXiv 2412.01523, equations 17 to 22), solved by COIN-OR CBC instead of SCIP.
///
/// With a limit on nodes, or without limits, the same problem always gives the same assignment. With a time
/// limit the solution depends on the machine. A time limit is checked between steps of the solver, so a solve
/// may take slightly longer.
class CbcAssignmentSolver : public AssignmentSolver {
 public:
  explicit CbcAssignmentSolver(CbcOptions options = {}) : options_(options) {}

  std::optional<Assignment> solve(const AssignmentProblem& problem, const SolveLimits& limits,
                                  const std::optional<Assignment>& start) override;
  void next_batch() override { ++batch_; }

  /// All solves so far, in order.
  const std::vector<SolveRecord>& log() const { return log_; }

 private:
  void branch_and_bound(const AssignmentProblem& problem, const SolveLimits& limits,
                        std::optional<Assignment>& best, SolveRecord& record) const;

  CbcOptions options_;
  std::vector<SolveRecord> log_;
  std::int64_t batch_ = -1;  // -1: next_batch() has not been called yet
};

}  // namespace packsim
