// What is listed for models with experts and latent attention.

#include <catch2/catch.hpp>
#include <set>

#include "expert_models.hpp"
#include "llama_8b.hpp"
#include "models/coverage/measurement_list.hpp"
#include "models/coverage/step_kernels.hpp"

using namespace packsim;
using packsim_test::kDeepseekV2;
using packsim_test::kLlama8b;
using packsim_test::kQwen3Moe;
using packsim_test::kTinyLatent;
using packsim_test::kTinyMixture;

namespace {

std::set<std::string> listed_for(std::vector<Transformer> models, int n_gpus = 1) {
  MeasurementListOptions options;
  options.n_gpus = n_gpus;
  std::set<std::string> texts;
  for (const ListedCase& listed : measurement_list(models, options).cases) texts.insert(listed.kernel.text());
  return texts;
}

}  // namespace

TEST_CASE("The plan has every matrix product and elementwise kernel of models with experts") {
  for (const Transformer& model : {kQwen3Moe, kTinyMixture, kTinyLatent}) {
    const std::set<std::string> listed = listed_for({model});
    for (const std::int64_t tokens : {1024, 4096, 16384}) {
      StepPlan step;
      step.model = model;
      step.micro_batches = {parse_documents("1x" + std::to_string(tokens))};
      for (const KernelUse& use : step_kernels(step)) {
        CAPTURE(model.name, use.kernel.text());
        if (use.kernel.kernel() == "gemm" || use.kernel.kernel() == "elementwise")
          CHECK(listed.contains(use.kernel.text()));
      }
    }
  }
}

TEST_CASE("Experts are listed for the tokens that they see where a GPU has all of them, or an eighth") {
  const std::set<std::string> listed = listed_for({kQwen3Moe});
  // 4096 tokens x 8 of 128 experts, and eight times as many.
  CHECK(listed.contains("gemm m=256 n=768 k=2048 layout=tn cache=cold"));
  CHECK(listed.contains("gemm m=768 n=2048 k=256 layout=nt cache=cold"));
  CHECK(listed.contains("gemm m=2048 n=768 k=2048 layout=tn cache=cold"));
  CHECK(listed.contains("gemm m=768 n=2048 k=2048 layout=nt cache=cold"));
  // Eight GPUs cannot share 60 experts, four can: 4096 x 8 x 4 / 60 are 2184.5 tokens an expert.
  Transformer sixty = kQwen3Moe;
  sixty.experts.n_routed = 60;
  CHECK(listed_for({sixty}).contains("gemm m=2185 n=768 k=2048 layout=tn cache=cold"));
}

TEST_CASE("Tensor parallelism splits neither routers, experts nor the layers that make latents") {
  const std::set<std::string> listed = listed_for({kDeepseekV2});
  // q_b makes 128 heads of 192 from a latent of 1536; a quarter of the heads.
  CHECK(listed.contains("gemm m=4096 n=6144 k=1536 layout=tn cache=cold"));
  // q_a, kv_a and the router are whole, and so are experts.
  CHECK(listed.contains("gemm m=4096 n=1536 k=5120 layout=tn cache=cold"));
  for (const char* split : {"n=192 k=5120", "n=144 k=5120", "n=40 k=5120"}) {
    CAPTURE(split);
    CHECK_FALSE(listed.contains(std::string("gemm m=4096 ") + split + " layout=tn cache=cold"));
  }
  // An output of one, the gate of shared experts, cannot be cut in two.
  CHECK(listed_for({kTinyMixture}).contains("gemm m=4096 n=1 k=16 layout=tn cache=cold"));
}

TEST_CASE("Attention of latent models is listed for a key-value head a head") {
  const std::set<std::string> listed = listed_for({kDeepseekV2});
  CHECK(listed.contains("attention pass=bwd docs=4x4096 heads=128 kv_heads=128 head_dim=160"));
  CHECK(listed.contains("attention pass=bwd docs=4x4096 heads=16 kv_heads=16 head_dim=160"));
}

TEST_CASE("All-to-alls of tokens to their experts are listed for every group of GPUs that divides them") {
  const std::set<std::string> listed = listed_for({kLlama8b, kQwen3Moe}, 16);
  // 4096 tokens x 8 experts x 2048 wide x 2 bytes.
  for (const char* group : {"gpus=2 nodes=1", "gpus=8 nodes=1", "gpus=16 nodes=2"}) {
    const std::string text =
        std::string("collective op=all_to_all ") + group + " bytes=134217728 imbalance=1";
    CAPTURE(text);
    CHECK(listed.contains(text));
  }
  CHECK_FALSE(listed_for({kLlama8b}, 16)
                  .contains("collective op=all_to_all gpus=8 nodes=1 bytes=134217728 imbalance=1"));
}

TEST_CASE("Models with experts leave a plan of dense ones as it is, where there is time for both") {
  // Not the smallest two, which are measured more closely.
  Transformer second = kLlama8b;
  second.n_layers = 33;
  const std::set<std::string> dense = listed_for({kLlama8b, second});
  const std::set<std::string> all = listed_for({kLlama8b, second, kQwen3Moe});
  CHECK(std::ranges::includes(all, dense));
}
