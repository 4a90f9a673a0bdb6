#include "models/layers/layer_ops.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "models/coverage/step_kernels.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/models/step/layer_op_sums.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

using Counts = std::map<std::string, double>;  // by part and kernel

void count(Counts& counts, const std::string& part, const Ops& ops, const KernelsOfOp& kernels,
           double times) {
  for (const LayerOp& op : ops) {
    if (op.kind == LayerOp::Kind::attention) continue;
    for (const CountedKernel& use : kernels(op)) counts[part + " " + use.kernel.text()] += times * use.count;
  }
}

}  // namespace

TEST_CASE("Data parallel x Ulysses: the same kernels, as often, as the step that is measured and validated") {
  std::mt19937 generator(1);
  const auto below = [&](int n) { return static_cast<int>(generator() % static_cast<std::uint32_t>(n)); };
  for (int i = 0; i < 300; ++i) {
    Transformer model = kLlama8b;
    model.n_layers = 1 + below(5);
    model.n_kv_heads = 1 << below(4);
    model.n_heads = model.n_kv_heads << below(4);
    model.head_dim = 32 * (1 + below(4));
    model.hidden_size = 64 * (1 + below(40));
    model.ffn_size = 32 * (1 + below(200));
    StepPlan step;
    step.model = model;
    step.sequence.ulysses = 1 << below(5);
    if (model.n_heads % step.sequence.ulysses != 0) continue;
    step.dp_degree = 1 + below(3);
    step.gc_layers = below(model.n_layers + 1);
    step.execution.recompute_stops_early = below(2) == 0;
    // One: later ones' gradients are added up, which no layer does.
    step.micro_batches = {{.runs = {{1 + below(5), 1 + below(3000)}}}};
    CAPTURE(i, step.sequence.ulysses, model.n_heads, model.n_kv_heads, step.gc_layers);

    ParallelPlan plan;
    plan.n_gpus = step.sequence.ulysses * step.dp_degree;
    plan.sequence.ulysses = step.sequence.ulysses;
    plan.execution.recompute_stops_early = step.execution.recompute_stops_early;
    Counts counts;
    for (const Documents& documents : step.micro_batches) {
      const std::int64_t tokens = (documents.tokens() + step.sequence.ulysses - 1) / step.sequence.ulysses;
      const Ops layer = layer_forward(model, plan, 8, LayerKind::dense, tokens);
      const Ops again = layer_recompute(model, plan, 8, LayerKind::dense, tokens);
      const Ops embedding = embedding_forward(model, plan, 8, tokens);
      const Ops head = head_forward(model, plan, 8, tokens);
      for (const Ops& ops : {embedding, head}) {
        count(counts, "forward", ops, forward_kernels, 1);
        count(counts, "backward", ops, backward_kernels, 1);
      }
      count(counts, "forward", layer, forward_kernels, model.n_layers);
      count(counts, "backward", layer, backward_kernels, model.n_layers);
      if (step.gc_layers > 0) count(counts, "recompute", again, forward_kernels, step.gc_layers);
    }
    Counts expected;
    for (const KernelUse& use : step_kernels(step)) {
      const bool is_layer = use.part == "forward" || use.part == "recompute" || use.part == "backward";
      const bool is_state = use.kernel.kernel() == "collective" && use.kernel.value("op") != "all_to_all";
      if (is_layer && !is_state && use.kernel.kernel() != "attention")
        expected[use.part + " " + use.kernel.text()] += use.count;
    }
    std::string differences;
    for (const auto& [kernel, n] : expected) {
      if (counts.count(kernel) == 0 || counts.at(kernel) != n)
        differences += kernel + ": " + std::to_string(counts[kernel]) + " for " + std::to_string(n) + "\n";
    }
    REQUIRE(differences == "");
    REQUIRE(counts == expected);
  }
}
