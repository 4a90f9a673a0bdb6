#include "planning/solver/cbc_assignment_solver.hpp"

#include <CbcHeuristic.hpp>
#include <CbcHeuristicRINS.hpp>
#include <CbcModel.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <chrono>
#include <limits>

#include "packing/flexsp/local_search.hpp"
#include "planning/solver/assignment_program.hpp"

namespace packsim {
namespace {

void load(const IntegerProgram& program, OsiClpSolverInterface& solver) {
  const int n_columns = static_cast<int>(program.upper.size());
  CoinPackedMatrix matrix(false, 0, 0);
  matrix.setDimensions(0, n_columns);
  std::vector<double> lower;
  std::vector<double> upper;
  const double infinity = solver.getInfinity();
  for (const IntegerProgram::Row& row : program.rows) {
    matrix.appendRow(static_cast<int>(row.columns.size()), row.columns.data(), row.factors.data());
    lower.push_back(std::clamp(row.lower, -infinity, infinity));
    upper.push_back(std::clamp(row.upper, -infinity, infinity));
  }
  std::vector<double> column_upper;
  for (const double most : program.upper) column_upper.push_back(std::min(most, infinity));
  std::vector<double> objective(program.upper.size(), 0);
  objective[0] = 1;
  solver.loadProblem(matrix, nullptr, column_upper.data(), objective.data(), lower.data(), upper.data());
  for (int column = 1; column < n_columns; ++column) solver.setInteger(column);
}

// Limits as they are, no threads. CBC's driver (CbcMain1) with its presolve and many heuristics is not used:
// it takes seconds before the first node, and fell over time limits that ended its presolve.
void set_limits(CbcModel& model, const SolveLimits& limits, double gap_fraction) {
  model.setAllowableFractionGap(gap_fraction);
  model.setAllowableGap(0);
  if (limits.n_nodes) {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    model.setMaximumNodes(static_cast<int>(std::min(*limits.n_nodes, kMost)));
  }
  if (limits.time_s) {
    model.setUseElapsedTime(true);
    model.setMaximumSeconds(*limits.time_s);
  }
}

// No cuts: on these programs the generators take the time of a hundred nodes and move the bound no further.
void add_heuristics(CbcModel& model) {
  CbcRounding round(model);
  CbcHeuristicRINS neighbourhood(model);
  constexpr int kNodesBetween = 50;
  neighbourhood.setHowOften(kNodesBetween);
  model.addHeuristic(&round, "round");
  model.addHeuristic(&neighbourhood, "RINS");
}

SolveStatus status_of(const CbcModel& model) {
  if (model.isProvenOptimal()) return SolveStatus::optimal;
  if (model.isNodeLimitReached()) return SolveStatus::node_limit;
  if (model.isSecondsLimitReached()) return SolveStatus::time_limit;
  return model.isProvenInfeasible() ? SolveStatus::infeasible : SolveStatus::node_limit;
}

// The better of two.
void improve(std::optional<Assignment>& best, std::optional<Assignment> other) {
  if (other && (!best || other->makespan_s < best->makespan_s)) best = std::move(other);
}

}  // namespace

std::optional<Assignment> CbcAssignmentSolver::solve(const AssignmentProblem& problem,
                                                     const SolveLimits& limits,
                                                     const std::optional<Assignment>& start) {
  check_problem(problem);
  const auto began = std::chrono::steady_clock::now();
  std::optional<Assignment> best = start;
  if (options_.local_search) {
    improve(best, LocalSearchSolver(options_.gap_fraction).solve(problem, limits, start));
  }
  SolveRecord record{.batch = std::max<std::int64_t>(batch_, 0),
                     .start_s = best ? best->makespan_s : 0,
                     .bound_s = makespan_bound_s(problem)};
  const bool proven = best && best->makespan_s <= record.bound_s * (1 + options_.gap_fraction);
  if (!proven && options_.integer_program) {
    branch_and_bound(problem, limits, best, record);
  } else {
    record.status = proven ? SolveStatus::optimal : SolveStatus::local_search;
  }
  if (best) record.objective_s = best->makespan_s;
  record.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  log_.push_back(record);
  return best;
}

void CbcAssignmentSolver::branch_and_bound(const AssignmentProblem& problem, const SolveLimits& limits,
                                           std::optional<Assignment>& best, SolveRecord& record) const {
  const AssignmentProgram program(problem, best, options_.published_program);
  OsiClpSolverInterface relaxation;
  relaxation.messageHandler()->setLogLevel(0);
  load(program.program(), relaxation);
  CbcModel model(relaxation);
  model.setLogLevel(0);
  if (best) {
    const std::vector<double> columns = program.columns(*best);
    model.setBestSolution(columns.data(), static_cast<int>(columns.size()), best->makespan_s, true);
  }
  set_limits(model, limits, options_.gap_fraction);
  add_heuristics(model);
  model.branchAndBound();
  record.status = status_of(model);
  record.n_nodes = model.getNodeCount();
  if (model.bestSolution() != nullptr) improve(best, program.assignment(model.bestSolution()));
  // Once CBC is done, its bound is that of the nodes that it cut off as no better than the best.
  const double bound_s = record.status == SolveStatus::infeasible ? 0 : model.getBestPossibleObjValue();
  if (best) record.bound_s = std::max(record.bound_s, std::min(bound_s, best->makespan_s));
}

}  // namespace packsim
