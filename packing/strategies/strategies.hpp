#pragma once

#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/strategy.hpp"

/// One function a file; the table in strategies.cpp names them.
namespace packsim::strategies_detail {

PackSet none(const PackProblem& problem);
PackSet random(const PackProblem& problem);
PackSet sorted(const PackProblem& problem);
PackSet isf(const PackProblem& problem);
PackSet first_fit_decreasing(const PackProblem& problem);
PackSet first_fit_shuffle(const PackProblem& problem);
PackSet best_fit_decreasing(const PackProblem& problem);
PackSet best_fit_shuffle(const PackProblem& problem);
PackSet spfhp(const PackProblem& problem);
PackSet lpfhp(const PackProblem& problem);
PackSet wrapped(const PackProblem& problem);
PackSet longalign(const PackProblem& problem);
PackSet axolotl_multipack(const PackProblem& problem);
std::vector<PackSet> hbp(const PackProblem& problem, std::span<const std::int64_t> capacities_tokens);
BatchPlan wlb(const BatchProblem& problem);
BatchPlan megatron_hybrid_cp(const BatchProblem& problem);
BatchPlan megatron_dynamic_cp(const BatchProblem& problem);
BatchPlan megatron_dp_balanced(const BatchProblem& problem);
BatchPlan verl_kk(const BatchProblem& problem);
BatchPlan trl_lpt(const BatchProblem& problem);
BatchPlan longalign_sorted(const BatchProblem& problem);
BatchPlan planner(const BatchProblem& problem);
BatchPlan flexsp(const BatchProblem& problem);

}  // namespace packsim::strategies_detail
