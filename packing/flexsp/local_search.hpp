#pragma once

#include <optional>

#include "packing/flexsp/assignment.hpp"

namespace packsim {

/// A good assignment without a solver, ours and not FlexSP's: from every homogeneous arrangement of the GPUs
/// on, groups are split and merged as long as the longest-first greedy assignment gets faster by it; then
/// sequences move between the slowest group and the others; and the groups once more, judged after that. It
/// stops at makespan_bound_s() and gap_fraction more. Deterministic. None where no arrangement that it came
/// by holds all sequences.
std::optional<Assignment> local_search(const AssignmentProblem& problem, double gap_fraction = 0);

/// local_search() as a solver, for where none is at hand; it has no limits to keep.
class LocalSearchSolver : public AssignmentSolver {
 public:
  explicit LocalSearchSolver(double gap_fraction = 0) : gap_fraction_(gap_fraction) {}
  std::optional<Assignment> solve(const AssignmentProblem& problem, const SolveLimits& limits,
                                  const std::optional<Assignment>& start) override;

 private:
  double gap_fraction_;
};

/// Moves sequences out of the slowest group, or swaps them, as long as the makespan gets shorter.
void balance(const AssignmentProblem& problem, Assignment& assignment);

}  // namespace packsim
