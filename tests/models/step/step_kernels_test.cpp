#include "models/coverage/step_kernels.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/models/closed_forms.hpp"
#include "tests/models/kernel_sums.hpp"
#include "tests/models/llama_8b.hpp"

using namespace packsim;
using packsim_test::count_of;
using packsim_test::kLlama8b;
using packsim_test::one;
using packsim_test::payload;
using packsim_test::sum;

namespace {

StepPlan plan_of(std::vector<std::string> packs, int sp_degree = 1, int gc_layers = 0) {
  StepPlan plan;
  plan.model = kLlama8b;
  plan.sequence.ulysses = sp_degree;
  plan.gc_layers = gc_layers;
  for (const std::string& pack : packs) plan.micro_batches.push_back(parse_documents(pack));
  return plan;
}

}  // namespace

TEST_CASE(
    "Matrix products add up to the model's flop a token: once forward, twice backward, once recomputed") {
  const double tokens = 8 * 512 + 4096;
  const std::vector<KernelUse> uses = step_kernels(plan_of({"8x512+1x4096"}, 1, 12));
  const double layers = kLlama8b.layers_flop_per_token();
  const double head = kLlama8b.head_flop_per_token();
  CHECK(sum(uses, "gemm", "forward", kernel_flop) == tokens * (layers + head));
  CHECK(sum(uses, "gemm", "backward", kernel_flop) == tokens * 2 * (layers + head));
  CHECK(sum(uses, "gemm", "recompute", kernel_flop) == tokens * layers * 12 / 32);
  // q, k, v, o, gate, up, down in 32 layers, and the head; each twice backward.
  CHECK(sum(uses, "gemm", "forward", one) == 7 * 32 + 1);
  CHECK(sum(uses, "gemm", "backward", one) == 2 * (7 * 32 + 1));
  CHECK(sum(uses, "gemm", "recompute", one) == 7 * 12);
}

TEST_CASE("The three products of a layer y = x W^T by hand") {
  const std::vector<KernelUse> uses = step_kernels(plan_of({"1x1000"}));
  // down: [1000, 14336] x [14336, 4096]; dx = [1000, 4096] x [4096, 14336]; dW = [4096, 1000] x [1000,
  // 14336].
  CHECK(count_of(uses, "gemm m=1000 n=4096 k=14336 layout=tn cache=cold", "forward") == 32);
  CHECK(count_of(uses, "gemm m=1000 n=14336 k=4096 layout=nn cache=cold", "backward") == 32);
  CHECK(count_of(uses, "gemm m=4096 n=14336 k=1000 layout=nt cache=cold", "backward") == 32);
  // gate and up are equal products, as are k and v, and in this model q and o.
  CHECK(count_of(uses, "gemm m=1000 n=14336 k=4096 layout=tn cache=cold", "forward") == 64);
  CHECK(count_of(uses, "gemm m=1000 n=1024 k=4096 layout=tn cache=cold", "forward") == 64);
  CHECK(count_of(uses, "gemm m=1000 n=4096 k=4096 layout=tn cache=cold", "forward") == 64);
}

TEST_CASE("Attention adds up to the model's flop a pair, 2.5 times that backward, over sp of the GPUs") {
  // Squared lengths: 8 x 512^2 + 4096^2, and 2 x 4096^2 of the second pack.
  const double pairs = 8 * 512.0 * 512 + 3 * 4096.0 * 4096;
  for (const int sp : {1, 2, 8, 16, 32}) {
    CAPTURE(sp);
    const std::vector<KernelUse> uses = step_kernels(plan_of({"8x512+1x4096", "2x4096"}, sp, 8));
    const double flop = pairs * kLlama8b.attention_flop_per_pair() / sp;
    CHECK(sum(uses, "attention", "forward", kernel_flop) == flop);
    CHECK(sum(uses, "attention", "backward", kernel_flop) == 2.5 * flop);
    CHECK(sum(uses, "attention", "recompute", kernel_flop) == flop * 8 / 32);
  }
}

TEST_CASE("A GPU of a Ulysses group has its share of the heads, and at least one key-value head") {
  for (const auto& [sp, heads, kv_heads] : {std::tuple{1, 32, 8}, {4, 8, 2}, {8, 4, 1}, {32, 1, 1}}) {
    const std::vector<KernelUse> uses = step_kernels(plan_of({"4x1024"}, sp));
    CHECK(count_of(uses,
                   "attention pass=bwd docs=4x1024 heads=" + std::to_string(heads) +
                       " kv_heads=" + std::to_string(kv_heads) + " head_dim=128",
                   "backward") == 32);
  }
}

TEST_CASE("All-to-alls add up to the bytes a token of Ulysses, forward, backward and recomputed") {
  for (const int sp : {1, 2, 8, 16, 32}) {
    CAPTURE(sp);
    const std::vector<KernelUse> uses = step_kernels(plan_of({"32x1024"}, sp, 16));
    const double sent_per_token = packsim_test::ulysses_bytes_per_token(kLlama8b, sp);
    const double tokens = 32 * 1024.0 / sp;
    // The payload is the whole buffer, of which a GPU keeps 1/sp.
    const double sent = payload(uses, "all_to_all", "forward") * (sp - 1) / sp;
    CHECK(sent == Approx(tokens * sent_per_token).epsilon(1e-12));
    CHECK(payload(uses, "all_to_all", "backward") == payload(uses, "all_to_all", "forward"));
    CHECK(payload(uses, "all_to_all", "recompute") == payload(uses, "all_to_all", "forward") / 2);
  }
}

TEST_CASE("Ulysses groups fill nodes") {
  StepPlan plan = plan_of({"16x1024"}, 16);
  // Queries and outputs of 1024 tokens: 2 bytes x 1024 x 32 x 128; keys and values: 8 heads copied to 16.
  std::vector<KernelUse> uses = step_kernels(plan);
  CHECK(count_of(uses, "collective op=all_to_all gpus=16 nodes=2 bytes=8388608 imbalance=1", "forward") ==
        64);
  CHECK(count_of(uses, "collective op=all_to_all gpus=16 nodes=2 bytes=4194304 imbalance=1", "forward") ==
        64);
  plan.gpus_per_node = 16;
  uses = step_kernels(plan);
  CHECK(count_of(uses, "collective op=all_to_all gpus=16 nodes=1 bytes=4194304 imbalance=1", "forward") ==
        64);
}

TEST_CASE("Every elementwise kernel runs once each way") {
  const std::vector<KernelUse> uses = step_kernels(plan_of({"1x256"}, 1, 1));
  const std::vector<std::tuple<std::string, int, double, double>> rows = {
      {"rms_norm", 4096, 65, 2},      {"residual_add", 4096, 64, 2}, {"swiglu", 14336, 32, 1},
      {"rope", 4096, 32, 1},          {"rope", 1024, 32, 1},         {"embedding", 4096, 1, 0},
      {"cross_entropy", 128256, 1, 0}};
  for (const auto& [op, cols, n, n_recomputed] : rows) {
    CAPTURE(op, cols);
    const auto text = [&, op = op, cols = cols](const std::string& pass) {
      return "elementwise op=" + op + " pass=" + pass + " rows=256 cols=" + std::to_string(cols) +
             " cache=cold";
    };
    CHECK(count_of(uses, text("fwd"), "forward") == n);
    CHECK(count_of(uses, text("bwd"), "backward") == n);
    CHECK(count_of(uses, text("fwd"), "recompute") == n_recomputed);
  }
}

TEST_CASE("A recomputation that stops early runs neither the down projection nor its residual add") {
  StepPlan plan = plan_of({"1x256"}, 1, 4);
  const std::vector<KernelUse> whole = step_kernels(plan);
  plan.execution.recompute_stops_early = true;
  const std::vector<KernelUse> early = step_kernels(plan);
  CHECK(sum(whole, "gemm", "recompute", one) - sum(early, "gemm", "recompute", one) == 4);
  CHECK(sum(whole, "gemm", "recompute", kernel_flop) - sum(early, "gemm", "recompute", kernel_flop) ==
        4 * 2.0 * 256 * 14336 * 4096);
  CHECK(sum(whole, "elementwise", "recompute", one) - sum(early, "elementwise", "recompute", one) == 4);
  CHECK(sum(whole, "gemm", "forward", one) == sum(early, "gemm", "forward", one));
}

TEST_CASE("Weights and gradients travel once a step, a micro-batch, or a pass, by ZeRO stage") {
  StepPlan plan = plan_of({"1x4096", "1x4096", "1x4096"}, 2);
  plan.dp_degree = 8;
  const double weights = 2 * kLlama8b.parameters();  // bf16
  const auto uses_of = [&](int stage) {
    plan.zero_stage = stage;
    return step_kernels(plan);
  };
  const std::vector<KernelUse> zero0 = uses_of(0);
  CHECK(payload(zero0, "all_reduce", "backward") == weights);
  CHECK(payload(zero0, "all_gather", "optimizer") == 0);
  const std::vector<KernelUse> zero1 = uses_of(1);
  CHECK(payload(zero1, "reduce_scatter", "backward") == weights);
  CHECK(payload(zero1, "all_gather", "optimizer") == weights);
  const std::vector<KernelUse> zero2 = uses_of(2);
  CHECK(payload(zero2, "reduce_scatter", "backward") == 3 * weights);
  CHECK(payload(zero2, "all_gather", "optimizer") == weights);
  const std::vector<KernelUse> zero3 = uses_of(3);
  CHECK(payload(zero3, "all_gather", "forward") == 3 * weights);
  CHECK(payload(zero3, "all_gather", "backward") == 3 * weights);
  CHECK(payload(zero3, "reduce_scatter", "backward") == 3 * weights);
  CHECK(payload(zero3, "all_gather", "optimizer") == 0);
  // 218 112 000 weights a layer, over 16 GPUs of two nodes.
  CHECK(count_of(zero3, "collective op=all_gather gpus=16 nodes=2 bytes=436224000 imbalance=1", "forward") ==
        3 * 32);
  // 16 buckets of 5e8 elements and the rest of 8 030 261 248.
  CHECK(count_of(zero1, "collective op=reduce_scatter gpus=16 nodes=2 bytes=1000000000 imbalance=1",
                 "backward") == 16);
  CHECK(count_of(zero1, "collective op=reduce_scatter gpus=16 nodes=2 bytes=60522496 imbalance=1",
                 "backward") == 1);
}

TEST_CASE("The optimizer runs on the GPU's share of what is sharded") {
  StepPlan plan = plan_of({"1x4096"});
  plan.dp_degree = 16;
  CHECK(count_of(step_kernels(plan), "adamw parameters=501891328", "optimizer") == 1);  // 8 030 261 248 / 16
  plan.zero_stage = 0;
  CHECK(count_of(step_kernels(plan), "adamw parameters=8030261248", "optimizer") == 1);
  // Four layers, the two ends and the last norm: 4 x 218 112 000 + 2 x 128 256 x 4 096 + 4 096.
  plan.n_layers = 4;
  CHECK(count_of(step_kernels(plan), "adamw parameters=1923125248", "optimizer") == 1);
}

TEST_CASE("One GPU talks to nobody") {
  for (const int stage : {0, 1, 2, 3}) {
    StepPlan plan = plan_of({"1x512"});
    plan.zero_stage = stage;
    CHECK(sum(step_kernels(plan), "collective", "", one) == 0);
  }
}

TEST_CASE("Fewer layers than the model's have that share of the layers' kernels") {
  StepPlan plan = plan_of({"4x1024"});
  plan.n_layers = 4;
  const std::vector<KernelUse> uses = step_kernels(plan);
  CHECK(sum(uses, "gemm", "forward", kernel_flop) ==
        4096 * (kLlama8b.layers_flop_per_token() / 8 + kLlama8b.head_flop_per_token()));
  CHECK(sum(uses, "attention", "forward", one) == 4);
}

TEST_CASE("Micro-batches of one shape are one use with a larger count") {
  const std::vector<KernelUse> once = step_kernels(plan_of({"4x1024"}));
  const std::vector<KernelUse> twice = step_kernels(plan_of({"4x1024", "4x1024"}));
  const std::vector<KernelUse> thrice = step_kernels(plan_of({"4x1024", "4x1024", "4x1024"}));
  CHECK(twice.size() == thrice.size());
  // More than once they have five kinds of weights, whose gradients are added: q and o; k and v; gate and up;
  // down; the embedding and the head.
  CHECK(twice.size() == once.size() + 5);
  CHECK(sum(thrice, "gemm", "", one) == 3 * sum(once, "gemm", "", one));
  CHECK(sum(thrice, "adamw", "", one) == 1);
}

TEST_CASE("There is a launch gap for every kernel") {
  const std::vector<KernelUse> uses = step_kernels(plan_of({"1x512"}, 4, 3));
  double n = 0;
  for (const KernelUse& use : uses) n += use.part == "launch" ? 0 : use.count;
  CHECK(count_of(uses, "launch_gap", "launch") == n);
}

TEST_CASE("A pack that the GPUs cannot share evenly is rounded up to a token each") {
  const std::vector<KernelUse> uses = step_kernels(plan_of({"1x1001"}, 8));
  CHECK(count_of(uses, "gemm m=126 n=4096 k=14336 layout=tn cache=cold", "forward") == 32);
}

TEST_CASE("A step case names its plan") {
  const StepPlan plan = step_plan(
      KernelCase::parse("step model=llama3.1-8b layers=4 gc_layers=2 sp=2 dp=4 zero=3 packs=4x1024/1x512"),
      kLlama8b, 8);
  CHECK(plan.n_layers == 4);
  CHECK(plan.gc_layers == 2);
  CHECK(plan.sequence.ulysses == 2);
  CHECK(plan.dp_degree == 4);
  CHECK(plan.zero_stage == 3);
  CHECK(plan.micro_batches.size() == 2);
  CHECK(plan.execution.recompute_stops_early);  // calibration/steps checkpoints so
}

TEST_CASE("Steps that cannot be are refused with all the reasons") {
  StepPlan plan = plan_of({"1x512"}, 3, 33);
  plan.dp_degree = 0;
  plan.zero_stage = 4;
  CHECK_THROWS_WITH(
      step_kernels(plan),
      "step of llama3.1-8b: gc_layers: expected 0..32, got 33; dp: expected at least 1, got 0; zero: "
      "expected 0..3, got 4; sp: expected a divisor of the model's 32 attention heads, got 3; sp: "
      "expected a divisor or a multiple of the model's 8 key-value heads, got 3");
}
