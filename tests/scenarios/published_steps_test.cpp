// The published training steps that are shipped: that they are read whole, add up, and agree with themselves.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "files/file_error.hpp"
#include "files/read_file.hpp"
#include "models/parallel_plan.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/read_published_steps.hpp"
#include "tests/paths.hpp"
#include "tests/scenarios/messages.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using packsim_test::kData;
const std::string kFolder = packsim_test::source_dir() + "/validation/";

const PublishedSteps& shipped() {
  static const PublishedSteps all = load_published_steps(kFolder + "published_steps.json", kData);
  return all;
}

// Of other stacks and other GPUs; nothing is fitted to them.
const PublishedSteps& held_out() {
  static const PublishedSteps all = load_published_steps(kFolder + "held_out_steps.json", kData);
  return all;
}

const PublishedStep& shipped_step(const std::string& id) {
  for (const PublishedStep& step : shipped().steps) {
    if (step.id == id) return step;
  }
  throw std::logic_error("no step " + id);
}

// "TP 4, PP 8 (6 chunks)", as the table of validation/README.md has it.
std::string plan_text(const ParallelPlan& plan) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (plan.tp_degree > 1) add(fmt::format("TP {}", plan.tp_degree));
  if (plan.sequence.ring > 1) add(fmt::format("CP {}", plan.sequence.ring));
  if (plan.pp_degree > 1) add(fmt::format("PP {} x {}", plan.pp_degree, plan.virtual_stages));
  add(fmt::format("ZeRO-{}", plan.zero_stage));
  if (plan.gc_layers > 0) add(fmt::format("GC {}", plan.gc_layers));
  return text;
}

std::string micro_batches_text(const PublishedStep& step) {
  const PublishedMicroBatches& batches = step.micro_batches.front();
  return fmt::format("{} of {}", batches.n_micro_batches, format_documents(batches.documents));
}

double peak_of(const PublishedStep& step) {
  return step.cluster.gpu.peak(is_narrow(step.plan.precision) ? "fp8" : "bf16").value();
}

// What of the GPUs' peak a step reaches.
double model_flop_utilisation(const PublishedStep& step, double peak_flop_per_s) {
  return step.model_flop() / (step.step_time_s * step.plan.n_gpus * peak_flop_per_s);
}

std::string table_row(const PublishedStep& step) {
  return fmt::format("| {}{} | {} | {} | {} | {:.4g} | {:.1f} % |", step.id, step.added ? " +" : "",
                     step.plan.n_gpus, plan_text(step.plan), micro_batches_text(step), step.step_time_s,
                     100 * model_flop_utilisation(step, peak_of(step)));
}

// Model flop utilisation with 6 flop a parameter, and attention over the full square.
double full_square_utilisation(const PublishedStep& step, double parameters) {
  const double sequence_tokens =
      static_cast<double>(step.micro_batches.front().documents.runs.front().length_tokens);
  const double flop_per_token =
      6 * parameters + 12 * step.model.n_layers * step.model.query_width() * sequence_tokens;
  return flop_per_token * step.tokens_per_step() / (step.step_time_s * step.plan.n_gpus * peak_of(step));
}

// As both publishers of the fitted steps count it.
double published_convention(const PublishedStep& step) {
  Transformer model = step.model;
  // One of the contradictions: the publisher counts twice the key-value heads of this model.
  if (model.name.starts_with("llama3.1-405b")) model.n_kv_heads = 16;
  const double matmul_parameters = (model.layers_flop_per_token() + model.head_flop_per_token()) / 2;
  return full_square_utilisation(step, step.published.parameters.value_or(matmul_parameters));
}

}  // namespace

TEST_CASE("Every published row that was surveyed is usable, unusable with reasons, or not shipped") {
  std::size_t n_surveyed = 0;
  for (const PublishedStep& step : shipped().steps) n_surveyed += step.added ? 0 : 1;
  int n_not_shipped = 0;
  for (const NotShippedSteps& rows : shipped().not_shipped) n_not_shipped += rows.n_rows;
  CHECK(n_surveyed == 80);
  CHECK(shipped().unusable.size() == 35);
  CHECK(n_not_shipped == 10);
  CHECK(n_surveyed + shipped().unusable.size() + static_cast<std::size_t>(n_not_shipped) == 125);
  CHECK(shipped().steps.size() - n_surveyed == 24);
}

TEST_CASE("A published step is read with its model, plan and documents") {
  const PublishedStep& step = shipped_step("dgxc_llama3.1/8b-8192-8gpu");
  CHECK(step.cluster.name == "h100-sxm-80gb");
  CHECK(step.plan.sequence.ring == 2);
  CHECK(step.plan.zero_stage == 1);
  CHECK(step.plan.dp_degree() == 4);
  CHECK(step.step_time_s == 12.27);
  CHECK(step.missing.empty());
  // 4 ranks x 32 micro-batches x 8192 tokens.
  CHECK(step.tokens_per_step() == 1048576);
  // Weights of a layer: q and o 2 x 4096^2, k and v 2 x 4096 x 1024, MLP 3 x 4096 x 14336 = 218 103 808;
  // 32 layers and a head of 128 256 x 4096 are 7 504 658 432. Attention over half the square, forward and
  // backward: 3 x 2 x 32 x 4096 a token and token of length.
  const double flop_per_token = 6 * 7504658432.0 + 6 * 32 * 4096.0 * 8192;
  CHECK(step.model_flop() == Approx(1048576 * flop_per_token));
  CHECK(model_flop_utilisation(step, peak_of(step)) ==
        Approx(1048576 * flop_per_token / (12.27 * 8 * 989.4e12)));
}

TEST_CASE("A step time that is not published follows from the tokens a second") {
  // 21 micro-batches of 1 x 8192 on each of 8 GPUs at 11 072 tokens/s.
  const PublishedStep& step = shipped_step("llm_foundry/30b-8192-8gpu");
  CHECK(step.step_time_s == Approx(21 * 8192 * 8 / 11072.0));
  CHECK_FALSE(step.published.step_time_s.has_value());
  CHECK(step.plan.gc_layers == 48);
  CHECK(step.plan.execution.recompute_stops_early);
  CHECK_FALSE(step.missing.empty());
  CHECK_FALSE(step.model_differs.empty());
}

TEST_CASE("The figures of a published step agree with each other") {
  for (const PublishedStep& step : shipped().steps) {
    CAPTURE(step.id);
    if (step.published.step_time_s && step.published.tokens_per_s) {
      // Step times have three digits.
      CHECK(step.tokens_per_step() / *step.published.step_time_s ==
            Approx(*step.published.tokens_per_s).epsilon(0.002));
    }
    REQUIRE(step.published.mfu_fraction.has_value());
    // Some sources round the flop of a sequence to three digits: 2.20e15 for 2.2045e15.
    CHECK(published_convention(step) == Approx(*step.published.mfu_fraction).epsilon(0.0025));
  }
}

TEST_CASE("Models that stand for others have their weights") {
  for (const PublishedSteps* all : {&shipped(), &held_out()}) {
    for (const PublishedStep& step : all->steps) {
      if (!step.published.parameters) continue;
      CAPTURE(step.id);
      // Learned positions are not in the model: hidden_size parameters a token of length.
      const double positions =
          step.model.hidden_size *
          static_cast<double>(step.micro_batches.front().documents.runs.front().length_tokens);
      CHECK(step.model.parameters() + positions == Approx(*step.published.parameters).epsilon(0.001));
    }
  }
}

TEST_CASE("Overlap is set where the source says so: NeMo, with tensor and data parallelism") {
  for (const PublishedStep& step : shipped().steps) {
    CAPTURE(step.id);
    const bool is_nemo = step.source.starts_with("dgxc_");
    CHECK(step.plan.execution.overlaps_tensor == (is_nemo && step.plan.tp_degree > 1));
    // NeMo overlaps nothing of the optimizer where there is one data-parallel rank, context parallelism
    // apart.
    CHECK(step.plan.execution.overlaps_gather == (is_nemo && step.plan.dp_degree() > 1));
  }
}

TEST_CASE("Plans of published steps can exist") {
  std::set<std::string> uneven;
  for (const PublishedStep& step : shipped().steps) {
    CAPTURE(step.id);
    CHECK(plan_mistakes(step.model, step.cluster, step.plan).empty());
    if (step.plan.chunk_layers.empty()) continue;
    uneven.insert(step.id);
    // With the embedding and the head as a layer each, all chunks have as many.
    std::vector<int> counted = step.plan.chunk_layers;
    ++counted.front();
    ++counted.back();
    CHECK(std::ranges::count(counted, counted.front()) == step.plan.n_chunks());
  }
  CHECK(uneven == std::set<std::string>{"dgxc_llama3.1/405b-30-layers-8192-64gpu",
                                        "dgxc_llama3.1/405b-62-layers-8192-128gpu",
                                        "dgxc_llama3.1/405b-8192-512gpu", "dgxc_llama3.1/405b-8192-1024gpu",
                                        "dgxc_llama3.1/405b-8192-2048gpu"});
}

TEST_CASE("Utilisations of published steps are plausible, and those of validation/README.md") {
  const std::string readme = read_file(kFolder + "README.md");
  for (const PublishedStep& step : shipped().steps) {
    CAPTURE(step.id);
    CHECK(model_flop_utilisation(step, peak_of(step)) > 0.05);
    CHECK(model_flop_utilisation(step, peak_of(step)) < 0.65);
    CHECK(readme.find(table_row(step) + "\n") != std::string::npos);
  }
  for (const UnusableStep& step : shipped().unusable) {
    CAPTURE(step.id);
    CHECK(readme.find("`" + step.source + "`") != std::string::npos);
  }
}

TEST_CASE("Held-out steps are no fitted steps, and their plans can exist") {
  std::set<std::string> fitted;
  for (const PublishedStep& step : shipped().steps) fitted.insert(step.id);
  for (const PublishedStep& step : held_out().steps) {
    CAPTURE(step.id);
    CHECK_FALSE(fitted.contains(step.id));
    CHECK(plan_mistakes(step.model, step.cluster, step.plan).empty());
  }
}

TEST_CASE("Figures of held-out steps are possible, and agree with each other") {
  for (const PublishedStep& step : held_out().steps) {
    CAPTURE(step.id);
    CHECK(model_flop_utilisation(step, peak_of(step)) > 0.02);
    // LoRA has no gradients of frozen weights, which are a third of the flop that are counted.
    CHECK(model_flop_utilisation(step, peak_of(step)) < (step.plan.lora_rank > 0 ? 1.2 : 0.8));
    const PublishedFigures& printed = step.published;
    // Step times have three digits.
    if (printed.step_time_s && printed.tokens_per_s)
      CHECK(step.tokens_per_step() / *printed.step_time_s == Approx(*printed.tokens_per_s).epsilon(0.005));
    // All who print a utilisation count the embeddings.
    if (printed.mfu_fraction) {
      const double parameters = printed.parameters.value_or(step.model.parameters());
      CHECK(full_square_utilisation(step, parameters) == Approx(*printed.mfu_fraction).epsilon(0.0025));
    }
  }
}

TEST_CASE("validation/README.md lists the sources of held-out steps, with their licences and rows") {
  const std::string readme = read_file(kFolder + "README.md");
  const std::set<std::string> licences = {"Apache-2.0", "BSD-3-Clause", "MIT"};
  for (const PublishedSource& source : held_out().sources) {
    CAPTURE(source.id);
    CHECK(licences.contains(source.licence));
    const auto n_rows = std::ranges::count(held_out().steps, source.id, &PublishedStep::source);
    CHECK(readme.find(fmt::format("| `{}` | {} | {} |", source.id, source.licence, n_rows)) !=
          std::string::npos);
  }
}

TEST_CASE("The table of usable steps", "[.table]") {
  for (const PublishedStep& step : shipped().steps) std::cout << table_row(step) << "\n";
}

namespace {

const std::string kSource =
    R"({"id": "s", "citation": "c", "url": "u", "licence": "MIT", "missing": ["clocks"]})";
const std::string kModel = R"({"differs": ["biases"], "model": {"format": 1, "name": "m", "source": "x",
  "layers": 2, "hidden_size": 8, "heads": 2, "kv_heads": 2, "head_dim": 4, "ffn_size": 16, "vocab_size": 10,
  "tied_embeddings": true, "qkv_bias": false, "published_parameters": 0}})";
const std::string kStep =
    R"({"id": "a", "source": "s", "cluster": {"type": "h100-sxm-80gb", "nodes": 2}, "model": "m",
  "plan": {"n_gpus": 16, "sp_degree": 2, "zero_stage": 3, "gc_layers": 1, "offload": "optimizer"},
  "micro_batches": [{"count": 3, "documents": "2x10+1x5"}, {"count": 1, "documents": "1x7"}],
  "published": {"tokens_per_s": 164}, "missing": ["network"]})";

std::string file_of(const std::string& step, const std::string& more = "") {
  return R"({"format": 1, "sources": [)" + kSource + R"(], "models": [)" + kModel + R"(], "steps": [)" +
         step + "]" + more + "}";
}

PublishedSteps steps_of(const std::string& text) {
  const TempFolder folder;
  return load_published_steps(folder.write("steps.json", text), kData);
}

// The mistakes in a file, its folder left out.
std::vector<std::string> steps_mistakes(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder.write("steps.json", text);
  std::vector<std::string> messages = messages_of([&] { load_published_steps(path, kData); });
  for (std::string& message : messages) {
    if (message.starts_with(folder.path())) message = message.substr(folder.path().size() + 1);
  }
  return messages;
}

// kStep with one text in place of another.
std::string changed(const std::string& from, const std::string& to) {
  std::string step = kStep;
  const std::size_t at = step.find(from);
  if (at == std::string::npos) throw std::logic_error("nothing to change: " + from);
  return file_of(step.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("A file of published steps is read whole") {
  const PublishedSteps all = steps_of(file_of(
      kStep,
      R"(, "unusable": [{"id": "b", "source": "s", "model": "big", "n_gpus": 4, "facts": {"dtype": "fp8"},
          "reasons": ["fp8"], "contradictions": ["two times"]}],
         "not_shipped": [{"citation": "a paper", "n_rows": 3, "reason": "may be quoted"}])"));
  REQUIRE(all.sources.size() == 1);
  CHECK(all.sources[0].licence == "MIT");
  REQUIRE(all.steps.size() == 1);
  const PublishedStep& step = all.steps[0];
  CHECK(step.cluster.n_gpus() == 16);
  CHECK(step.model.n_layers == 2);
  CHECK(step.model_differs == std::vector<std::string>{"biases"});
  CHECK(step.plan == ParallelPlan{.n_gpus = 16,
                                  .sequence = {.ulysses = 2},
                                  .zero_stage = 3,
                                  .execution = {.launch_s = kTorchLaunch_s},
                                  .gc_layers = 1,
                                  .offload = {.optimizer = true}});
  CHECK(step.missing == std::vector<std::string>{"clocks", "network"});
  // 8 ranks x (3 x 25 + 7) tokens = 656, at 164 a second.
  CHECK(step.tokens_per_step() == 656);
  CHECK(step.step_time_s == 4);
  // Weights: 2 layers of 4 x 64 + 3 x 128 and a head of 80, in all 1 360; squares: 8 x (3 x 225 + 49) = 5
  // 792, each 2 layers x 2 x 8 flop.
  CHECK(step.model_flop() == 3 * (656 * 2 * 1360.0 + 5792 * 32.0));
  REQUIRE(all.unusable.size() == 1);
  CHECK(all.unusable[0].contradictions == std::vector<std::string>{"two times"});
  REQUIRE(all.not_shipped.size() == 1);
  CHECK(all.not_shipped[0].n_rows == 3);
}

TEST_CASE("A published step time counts before published tokens a second") {
  std::string step = kStep;
  step.replace(step.find(R"("tokens_per_s": 164)"), 19, R"("tokens_per_s": 164, "step_time_s": 4.1)");
  CHECK(steps_of(file_of(step)).steps[0].step_time_s == 4.1);
}

TEST_CASE("Mistakes in a file of published steps are told with their places") {
  const auto expect = [](const std::string& text, const std::string& message) {
    CAPTURE(text);
    CHECK(steps_mistakes(text) == std::vector<std::string>{"steps.json: " + message});
  };
  expect(changed(R"("source": "s")", R"("source": "nobody")"),
         R"(/steps/0/source: expected the id of a source, got "nobody" (string))");
  expect(changed(R"("documents": "1x7")", R"("documents": "seven")"),
         "/steps/0/micro_batches/1/documents: expected documents such as 8x512+1x4096, got \"seven\" "
         "(expected documents like "
         "8x512+1x4096 of at most 2147483647 tokens, got \"seven\")");
  expect(changed(R"("nodes": 2)", R"("nodes": 3)"),
         "/steps/0/plan: expected n_gpus of the cluster's 24 GPUs, got 16");
  expect(changed(R"("sp_degree": 2)", R"("sp_degree": 3)"),
         "/steps/0/plan: expected degrees whose product divides 16 GPUs, got 3");
  expect(changed(R"("sp_degree": 2)",
                 R"("sp_degree": 1048576, "tp_degree": 1048576, "cp_degree": 1048576, "pp_degree": 4096)"),
         "/steps/0/plan: expected degrees whose product divides 16 GPUs, got 1048576");
  expect(changed(R"("gc_layers": 1)", R"("gc_layers": 3)"),
         "/steps/0/plan: expected gc_layers of 0..2, got 3");
  expect(
      changed(R"("offload": "optimizer")", R"("offload": "disk")"),
      R"(/steps/0/plan/offload: expected one of none, optimizer, weights, gradients, activations, or an array of optimizer, weights, gradients, activations, got "disk" (string))");
  expect(changed(R"("tokens_per_s": 164)", R"("mfu_fraction": 0.4)"),
         "/steps/0/published/step_time_s: expected this or tokens_per_s, got nothing");
  expect(changed(R"("tokens_per_s": 164)", R"("tokens_per_s": 164, "mfu_fraction": 41.25)"),
         "/steps/0/published/mfu_fraction: expected number over 0, up to 1, got 41.25 (number)");
  expect(changed(R"("missing": ["network"])", R"("missing": "network")"),
         R"(/steps/0/missing: expected array of texts, got "network" (string))");
  expect(file_of(kStep + "," + kStep), R"(/steps/1/id: expected an id of its own, got "a" again)");
  expect(file_of(kStep,
                 R"(, "unusable": [{"id": "b", "source": "s", "model": "big", "n_gpus": 4, "reasons": []}])"),
         "/unusable/0/reasons: expected at least one reason, got [] (array)");
}

TEST_CASE("A published step may take a part of one node") {
  const std::string part = changed(R"("nodes": 2}, "model": "m",
  "plan": {"n_gpus": 16)",
                                   R"("nodes": 1, "gpus_per_node": 4}, "model": "m", "plan": {"n_gpus": 4)");
  CHECK(steps_of(part).steps[0].cluster.n_gpus() == 4);
  // 2 ranks x (3 x 25 + 7) tokens.
  CHECK(steps_of(part).steps[0].tokens_per_step() == 164);
  CHECK(steps_mistakes(changed(R"("nodes": 2)", R"("nodes": 1, "gpus_per_node": 9)")) ==
        std::vector<std::string>{
            "steps.json: /steps/0/cluster/gpus_per_node: expected integer in 1..8, got 9 (number)"});
  CHECK(steps_mistakes(changed(R"("nodes": 2)", R"("nodes": 2, "gpus_per_node": 8)")) ==
        std::vector<std::string>{
            "steps.json: /steps/0/cluster/nodes: expected 1, as gpus_per_node is given, got 2 (number)"});
}

TEST_CASE("Several mistakes of published steps are told at once") {
  std::string step = kStep;
  step.replace(step.find(R"("m",)"), 4, R"("llama3.1-8",)");
  step.replace(step.find("h100-sxm"), 8, "h100-pci");
  step.replace(step.find(R"("zero_stage": 3)"), 15, R"("zero_stage": 4)");
  const std::vector<std::string> messages = steps_mistakes(file_of(step, R"(, "colour": 1)"));
  REQUIRE(messages.size() == 4);
  CHECK(messages[0].starts_with("steps.json: /steps/0/cluster/type: expected the name of a cluster type"));
  CHECK(messages[1].starts_with("steps.json: /steps/0/model: expected the name of a model"));
  CHECK(messages[2] == "steps.json: /steps/0/plan/zero_stage: expected integer in 0..3, got 4 (number)");
  CHECK(messages[3].starts_with("steps.json: /colour: expected no such key"));
}

TEST_CASE("A file that holds no published steps is told so") {
  CHECK(steps_mistakes("{").size() == 1);
  CHECK(steps_mistakes("[]") ==
        std::vector<std::string>{"steps.json: top level: expected object, got [] (array)"});
  CHECK(steps_mistakes(R"({"format": 1})").size() == 2);  // sources and steps
  CHECK_THROWS_AS(load_published_steps("/nowhere.json", kData), FileError);
}

namespace {

nlohmann::json hbp() {
  return nlohmann::json::parse(read_file(kFolder + "hbp.json"));
}

const std::vector<std::string> kHbpTables = {"step_time", "ablation", "group_selection", "strategies",
                                             "batching",  "flexsp",   "flexsp_planning", "deepseek"};

}  // namespace

TEST_CASE("Step times of hbp.json are the rows that the framework profile is fitted to") {
  std::string csv = "table,pack_tokens,sp_degree,gc_layers,memory,step_s\n";
  const nlohmann::json all = hbp();
  for (const nlohmann::json& row : all.at("step_time")) {
    const std::string ref = row.at("ref");
    const bool fits = row.at("verdict") == "fits";
    // "table 4, 32K SP 2"
    csv += fmt::format("T{},{},{},{},{},", ref.substr(6, ref.find(',') - 6),
                       row.at("capacity_tokens").get<int>(), row.at("sp_degree").get<int>(),
                       row.at("gc_layers").get<int>(),
                       fits ? fmt::format("{}G", row.at("memory_gib").get<int>()) : "OOM");
    csv += fits ? fmt::format("{}\n", row.at("step_time_s").get<double>()) : "\n";
  }
  CHECK(csv == read_file(packsim_test::source_dir() + "/calibration/data/hbp_step_times.csv"));
}

TEST_CASE("Rows of hbp.json name tolerances, data, scenarios and strategies that exist") {
  const nlohmann::json all = hbp();
  const Scenario scenario = load_scenario("llama3.1-8b-hybrid-128k", kData);
  std::set<std::string> refs;
  for (const std::string& table : kHbpTables) {
    for (const nlohmann::json& row : all.at(table)) {
      CAPTURE(row.dump());
      CHECK(refs.insert(row.at("ref")).second);
      const nlohmann::json& tolerance = row.at("tolerance");
      for (const nlohmann::json& name : tolerance.is_array() ? tolerance : nlohmann::json{tolerance})
        CHECK(all.at("tolerances").contains(name.get<std::string>()));
      if (row.contains("data")) CHECK(all.at("data").contains(row.at("data").get<std::string>()));
      if (!row.contains("scenario")) continue;
      const Scenario of_row = load_scenario(row.at("scenario").get<std::string>(), kData);
      // A row of two strategies names neither.
      const std::string strategy = row.value("strategy", of_row.baseline);
      CHECK(std::ranges::count(of_row.strategies, strategy, &StrategySpec::name) == 1);
    }
  }
  CHECK(refs.size() == 19 + 6 + 3 + 7 + 9 + 3 + 2 + 1);
  CHECK(all.at("setting").at("tokens_per_iteration") == scenario.training.tokens_per_iteration);
}
