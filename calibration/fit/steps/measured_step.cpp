#include "calibration/fit/steps/measured_step.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/coverage/step_kernels.hpp"

namespace packsim {
namespace {

ParallelPlan plan_of(const KernelCase& step, const MeasurementSource& source) {
  const auto integer = [&](std::string_view key) { return static_cast<int>(step.integer(key)); };
  ParallelPlan plan = source_plan(source);
  plan.sequence.ulysses = integer("sp");
  plan.zero_stage = integer("zero");
  plan.gc_layers = integer("gc_layers");
  plan.n_gpus = integer("dp") * plan.rank_gpus();
  return plan;
}

// What is wrong with the plan of a measured step.
std::vector<std::string> mistakes_of(const MeasuredStep& step) {
  std::vector<std::string> mistakes;
  for (const PlanMistake& mistake : plan_mistakes(step.model, step.cluster, step.plan))
    mistakes.push_back(mistake.text());
  if (step.plan.pp_degree > 1) {
    mistakes.push_back(
        "pp_degree: expected 1, because the parts of a step in a pipeline do not add up, got " +
        std::to_string(step.plan.pp_degree));
  }
  return mistakes;
}

Cluster gpus_of(const ParallelPlan& plan, const Cluster& node) {
  Cluster cluster = node;
  cluster.gpus_per_node = std::min(node.gpus_per_node, plan.n_gpus);
  cluster.nodes = std::max(1, plan.n_gpus / cluster.gpus_per_node);
  return cluster;
}

std::vector<StepPack> packs_of(const KernelCase& step) {
  std::vector<StepPack> packs;
  for (const Documents& documents : step.packs("packs")) {
    StepPack pack{.tokens = documents.tokens()};
    for (const DocumentRun& run : documents.runs) {
      pack.lengths_tokens.insert(pack.lengths_tokens.end(), static_cast<std::size_t>(run.n_documents),
                                 static_cast<std::int32_t>(run.length_tokens));
    }
    packs.push_back(std::move(pack));
  }
  return packs;
}

}  // namespace

ParallelPlan source_plan(const MeasurementSource& source) {
  return source.plan.value_or(ParallelPlan{.execution = kMeasuredStepExecution});
}

std::vector<MeasuredStep> measured_steps(const Measurements& measurements,
                                         const std::function<Transformer(const std::string&)>& model,
                                         const Cluster& cluster, const HardwareProfile& hardware) {
  std::vector<MeasuredStep> steps;
  std::string mistakes;
  for (const Measurement& row : measurements.rows) {
    if (row.kernel.kernel() != "step") continue;
    MeasuredStep step;
    step.row = &row;
    step.model = model(row.kernel.value("model"));
    step.plan = plan_of(row.kernel, measurements.source_of(row));
    step.model.n_layers =
        static_cast<int>(std::min<std::int64_t>(step.model.n_layers, row.kernel.integer("layers")));
    step.cluster = gpus_of(step.plan, cluster);
    for (const std::string& mistake : mistakes_of(step)) {
      mistakes += (mistakes.empty() ? "" : "\n") + (row.place.empty() ? "" : row.place + ": ") +
                  row.kernel.text() + ": " + mistake;
    }
    if (!mistakes.empty()) continue;
    const std::vector<StepPack> packs = packs_of(row.kernel);
    step.n_micro_batches = static_cast<int>(packs.size());
    for (const StepPack& pack : packs)
      step.largest_pack_tokens = std::max(step.largest_pack_tokens, pack.tokens);
    StepTermsPricer pricer(step.model, step.cluster, step.plan, hardware);
    step.terms = pricer.step(packs);
    if (measurements.source_of(row).plan) step.launches = pricer.launches(packs);
    steps.push_back(std::move(step));
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);
  return steps;
}

double allocated_bytes(const MeasuredStep& step) {
  return peak_memory(step.model, step.cluster, step.plan, {},
                     static_cast<double>(step.largest_pack_tokens) / step.plan.sequence_gpus(),
                     step.n_micro_batches)
      .allocated_bytes();
}

}  // namespace packsim
