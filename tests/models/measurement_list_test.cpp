#include "models/coverage/measurement_list.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>

#include "llama_8b.hpp"
#include "models/coverage/step_kernels.hpp"
#include "models/kernels/rough_time.hpp"

using namespace packsim;
using packsim_test::kLlama8b;

namespace {

std::vector<Transformer> one_model() {
  return {kLlama8b};
}

MeasurementList list_of(MeasurementListSize size, int n_gpus = 1, int gpus_per_node = 8) {
  MeasurementListOptions options;
  options.size = size;
  options.n_gpus = n_gpus;
  options.gpus_per_node = gpus_per_node;
  options.length_sets = {{"short", {100, 700, 300, 2000, 50, 900}}, {"long", {60000, 9000, 30000, 12000}}};
  return measurement_list(one_model(), options);
}

std::set<std::string> texts_of(const MeasurementList& list) {
  std::set<std::string> texts;
  for (const ListedCase& listed : list.cases) texts.insert(listed.kernel.text());
  return texts;
}

bool is_collective(const KernelCase& kernel) {
  return kernel.kernel() == "collective" || kernel.kernel() == "overlap";
}

}  // namespace

TEST_CASE("A quick list takes under three minutes on one GPU, a full one under twenty-five") {
  for (const auto& [size, most_s] :
       {std::pair{MeasurementListSize::quick, 180.0}, {MeasurementListSize::full, 1500.0}}) {
    const MeasurementList list = list_of(size, 8);
    double one_gpu_s = 0;
    for (const ListedCase& listed : list.cases) {
      CHECK(listed.estimated_s == rough_measuring_s(listed.kernel));
      if (!is_collective(listed.kernel)) one_gpu_s += listed.estimated_s;
    }
    CHECK(list.one_gpu_s == Approx(one_gpu_s));
    CHECK(one_gpu_s < most_s);
    CHECK(list.collectives_s > 0);
  }
}

TEST_CASE("A list names each case once, the most useful level first") {
  const MeasurementList list = list_of(MeasurementListSize::full, 16);
  CHECK(texts_of(list).size() == list.cases.size());
  CHECK(std::ranges::is_sorted(list.cases, std::ranges::less(), &ListedCase::level));
}

TEST_CASE("A run that ends early has measured the ends of every curve, then the middles") {
  const MeasurementList list = list_of(MeasurementListSize::quick);
  const std::vector<ListedCase>& cases = list.cases;
  REQUIRE(cases.size() > 10);
  CHECK(cases[0].kernel.text() == "launch_gap");
  CHECK(cases[1].section == "gemm: ceiling");
  CHECK(cases[2].section == "gemm: ceiling");
  CHECK(std::ranges::is_sorted(
      cases, {}, [](const ListedCase& listed) { return std::pair(listed.level, listed.round); }));
  // The rows of one curve of each kernel. Five sizes: the ends, the middle, the quarters.
  const auto sizes_of = [&](const std::string& start, const std::string& end) {
    std::vector<std::string> sizes;
    for (const ListedCase& listed : cases) {
      const std::string text = listed.kernel.text();
      if (listed.level == 1 && text.starts_with(start) && text.ends_with(end))
        sizes.push_back(text.substr(start.size(), text.size() - start.size() - end.size()));
    }
    return sizes;
  };
  using Texts = std::vector<std::string>;
  CHECK(sizes_of("gemm m=", " n=14336 k=4096 layout=tn cache=cold") == Texts{"1024", "16384", "4096"});
  CHECK(sizes_of("gemm m=14336 n=4096 k=", " layout=nt cache=cold") == Texts{"1024", "16384", "4096"});
  CHECK(sizes_of("attention pass=bwd docs=", " heads=32 kv_heads=8 head_dim=128") ==
        Texts{"128x128", "1x16384", "8x2048", "32x512", "2x8192"});
  CHECK(sizes_of("adamw parameters=", "") == Texts{"4194304", "536870912", "67108864"});
  CHECK(sizes_of("copy kind=device bytes=", " cache=cold") == Texts{"1024", "1073741824"});
  // A budget that ends with the first round has seen every kernel that one GPU can run.
  std::set<std::string> kernels;
  for (const ListedCase& listed : cases) {
    if (listed.level == 1 && listed.round == 0) kernels.insert(std::string(listed.kernel.kernel()));
  }
  CHECK(kernels == std::set<std::string>{"adamw", "attention", "copy", "elementwise", "gemm", "launch_gap"});
}

TEST_CASE("Measuring takes the time to prepare, to warm up and to sample") {
  const auto measuring_s = [](const char* text) { return rough_measuring_s(KernelCase::parse(text)); };
  CHECK(measuring_s("launch_gap") == Approx(0.05 + 0.2 + 0.15));
  CHECK(measuring_s("attention pass=fwd docs=1x128 heads=1 kv_heads=1 head_dim=128") == Approx(0.5 + 0.35));
  const double call_s =
      rough_kernel_s(KernelCase::parse("gemm m=65536 n=65536 k=16384 layout=tn cache=cold"));
  REQUIRE(call_s > 0.2);
  CHECK(measuring_s("gemm m=65536 n=65536 k=16384 layout=tn cache=cold") == Approx(0.05 + 1 + 5 * call_s));
}

TEST_CASE("The full list has all that the quick one has") {
  const std::set<std::string> quick = texts_of(list_of(MeasurementListSize::quick, 8));
  const std::set<std::string> full = texts_of(list_of(MeasurementListSize::full, 8));
  CHECK(std::ranges::includes(full, quick));
  CHECK(full.size() > 2 * quick.size());
}

TEST_CASE("The list has every matrix product of a step at the token counts that it measures") {
  for (const std::int64_t tokens : {1024, 4096, 16384}) {
    StepPlan step;
    step.model = kLlama8b;
    step.micro_batches = {parse_documents("1x" + std::to_string(tokens))};
    const std::set<std::string> listed = texts_of(list_of(MeasurementListSize::quick));
    for (const KernelUse& use : step_kernels(step)) {
      CAPTURE(use.kernel.text());
      if (use.kernel.kernel() == "gemm" || use.kernel.kernel() == "elementwise")
        CHECK(listed.contains(use.kernel.text()));
    }
  }
}

TEST_CASE("Attention is listed for the heads of each SP degree") {
  const std::set<std::string> listed = texts_of(list_of(MeasurementListSize::full));
  for (const char* heads :
       {"heads=32 kv_heads=8", "heads=16 kv_heads=4", "heads=4 kv_heads=1", "heads=1 kv_heads=1"}) {
    for (const char* pass : {"fwd", "bwd"}) {
      for (const char* documents : {"128x128", "4x4096", "1x16384"}) {
        const std::string text =
            std::string("attention pass=") + pass + " docs=" + documents + " " + heads + " head_dim=128";
        CAPTURE(text);
        CHECK(listed.contains(text));
      }
    }
  }
  // A document of 128K takes an eighth of the heads a tenth of a second.
  CHECK(listed.contains("attention pass=bwd docs=1x131072 heads=4 kv_heads=1 head_dim=128"));
}

TEST_CASE("Tensor parallelism shards outputs of q, gate and the head, inputs of o and down") {
  const std::set<std::string> listed = texts_of(list_of(MeasurementListSize::full));
  for (const char* text :
       {"gemm m=4096 n=7168 k=4096 layout=tn cache=cold", "gemm m=4096 n=4096 k=7168 layout=tn cache=cold",
        "gemm m=4096 n=16032 k=4096 layout=tn cache=cold"}) {
    CAPTURE(text);
    CHECK(listed.contains(text));
  }
}

TEST_CASE("One GPU has no collectives; more have every power of two, within and across nodes") {
  for (const ListedCase& listed : list_of(MeasurementListSize::full).cases)
    CHECK_FALSE(is_collective(listed.kernel));
  const std::set<std::string> listed = texts_of(list_of(MeasurementListSize::full, 32));
  for (const char* group : {"gpus=2 nodes=1", "gpus=4 nodes=1", "gpus=8 nodes=1", "gpus=16 nodes=2",
                            "gpus=32 nodes=4", "gpus=2 nodes=2", "gpus=4 nodes=4"}) {
    for (const char* op : {"all_to_all", "all_gather", "reduce_scatter", "all_reduce"}) {
      for (const char* bytes : {"1024", "4096", "1048576", "1073741824"}) {
        const std::string text =
            std::string("collective op=") + op + " " + group + " bytes=" + bytes + " imbalance=1";
        CAPTURE(text);
        CHECK(listed.contains(text));
      }
    }
  }
  CHECK(listed.contains("collective op=send_recv gpus=2 nodes=2 bytes=1024 imbalance=1"));
  CHECK(listed.contains("collective op=all_to_all gpus=8 nodes=1 bytes=16777216 imbalance=1.5"));
}

TEST_CASE("Cases that do not fit into the GPU's memory are left out and counted") {
  MeasurementListOptions options;
  options.gpu_memory_bytes = 16e9;
  const MeasurementList list = measurement_list(one_model(), options);
  CHECK(list.over_memory > 0);
  for (const ListedCase& listed : list.cases) CHECK(rough_memory_bytes(listed.kernel) <= 0.6 * 16e9);
}

TEST_CASE("A drawn pack takes samples in their order, those that fit") {
  const LengthSet set{"lengths", {600, 500, 0, 300, 300, 90, 10}};
  // From the start: 600, not 500, 300, not the next 300, 90, 10.
  CHECK(format_documents(drawn_pack(set, 1000, 0)) == "1x600+1x300+1x90+1x10");
  // From the middle: 300 and 300 are neighbours, then 90, 10; then from the start not 600 but not 500 either.
  CHECK(format_documents(drawn_pack(set, 750, 0.5)) == "2x300+1x90+1x10");
  CHECK(drawn_pack(set, 5, 0).runs.empty());
  CHECK(drawn_pack({"none", {}}, 100, 0.5).runs.empty());
}

TEST_CASE("The list's text reads back as its cases") {
  const MeasurementList list = list_of(MeasurementListSize::quick, 2);
  const std::string text = measurement_list_text(list, "A list.\n\nTwo paragraphs.");
  CHECK(text.starts_with("# A list.\n#\n# Two paragraphs.\n"));
  std::vector<std::string> cases;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    const std::string line = text.substr(start, end - start);
    if (!line.empty() && line[0] != '#') cases.push_back(KernelCase::parse(line).text());
    start = end + 1;
  }
  REQUIRE(cases.size() == list.cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(cases[i] == list.cases[i].kernel.text());
}

TEST_CASE("Lists of nothing are refused") {
  CHECK_THROWS_WITH(measurement_list({}, {}), "models: expected at least 1, got 0");
  MeasurementListOptions options;
  options.gpus_per_node = 0;
  CHECK_THROWS_WITH(measurement_list(one_model(), options), "gpus_per_node: expected at least 1, got 0");
}
