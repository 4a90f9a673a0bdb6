#include "calibration/fit/steps/framework_fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "calibration/fit/curves/hardware_fit.hpp"
#include "calibration/fit/steps/measured_step.hpp"
#include "calibration/fit/steps/step_terms.hpp"
#include "models/coverage/step_kernels.hpp"
#include "models/memory/peak_memory.hpp"
#include "models/plan/plan_key.hpp"
#include "models/step/pass/pass_time.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/calibration/synthetic.hpp"
#include "tests/paths.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

using packsim_test::kData;
const FrameworkFactors kTruth{.linear_factor = 1.4,
                              .attention_factor = 1.1,
                              .exchange_in_node_factor = 2,
                              .exchange_between_factor = 5,
                              .micro_batch_s = 0.010,
                              .step_s = 0.030};

Transformer model_of(const std::string& name) {
  return load_model(name, kData);
}

Cluster one_node() {
  return load_cluster_type("h100-sxm-80gb", kData);
}

// As calibration/steps runs it, on one or four GPUs of a node.
struct TrueStep {
  std::string text;
  ParallelPlan plan;
  std::vector<std::vector<std::int32_t>> packs;
};

std::vector<TrueStep> true_steps() {
  const std::vector<std::pair<std::string, std::vector<std::vector<std::int32_t>>>> packs = {
      {"1x4096", {{4096}}},
      {"4x2048", {{2048, 2048, 2048, 2048}}},
      {"1x16384", {{16384}}},
      {"4x4096", {{4096, 4096, 4096, 4096}}},
      {"1x8192/2x4096", {{8192}, {4096, 4096}}},
      {"1x16384/1x16384/2x8192", {{16384}, {16384}, {8192, 8192}}}};
  std::vector<TrueStep> steps;
  for (const auto& [text, lengths] : packs) {
    for (const int sp : {1, 4}) {
      for (const int gc_layers : {0, 4}) {
        TrueStep step;
        step.text = "step model=llama3.1-8b layers=4 gc_layers=" + std::to_string(gc_layers) +
                    " sp=" + std::to_string(sp) + " dp=1 zero=1 packs=" + text;
        step.plan = {.n_gpus = sp,
                     .sequence = {.ulysses = sp},
                     .zero_stage = 1,
                     .execution = kMeasuredStepExecution,
                     .gc_layers = gc_layers};
        step.packs = lengths;
        steps.push_back(step);
      }
    }
  }
  return steps;
}

// Times and peaks of kTruth, straight from the models that the simulator asks.
Synthetic made_up_steps(const HardwareProfile& hardware, double noise) {
  Synthetic rows(4, noise, 0);
  Transformer cut = model_of("llama3.1-8b");
  cut.n_layers = 4;
  for (const TrueStep& step : true_steps()) {
    Cluster gpus = one_node();
    gpus.gpus_per_node = step.plan.n_gpus;
    StepPricer pricer(cut, gpus, step.plan, hardware, kTruth);
    const StatesPrice& states = pricer.states();
    std::int64_t time_ns = states.optimizer_ns + states.step_ns + states.units.front().reduce_ns;
    const auto n_later = static_cast<std::int64_t>(step.packs.size()) - 1;
    for (const StateUnit& unit : states.units) time_ns += unit.gather_ns + n_later * unit.sum_ns;
    std::int64_t most_tokens = 0;
    for (const std::vector<std::int32_t>& lengths : step.packs) {
      std::int64_t tokens = 0;
      for (const std::int32_t length : lengths) tokens += length;
      most_tokens = std::max(most_tokens, tokens);
      const MicroBatchPrice price = pricer.micro_batch(tokens, lengths);
      time_ns +=
          forward_time(price, pricer.chunk(0)).total_ns + backward_time(price, pricer.chunk(0)).total_ns;
    }
    rows.add(step.text, 1e-9 * static_cast<double>(time_ns));
    rows.measurements.rows.back().peak_memory_bytes =
        peak_memory(cut, gpus, step.plan, {}, static_cast<double>(most_tokens) / step.plan.sequence.ulysses,
                    static_cast<int>(step.packs.size()))
            .allocated_bytes();
  }
  return rows;
}

}  // namespace

TEST_CASE("A framework profile is found from steps whose documents are known") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  const Synthetic rows = made_up_steps(hardware, 0.003);
  const FrameworkFit fit =
      fit_framework_profile(rows.measurements, model_of, one_node(), hardware, {.name = "mine"});
  const TimeFactors truth = time_factors(kTruth);
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    if (k == 3) continue;  // nothing crosses nodes
    CAPTURE(fit.numbers[k].name, fit.numbers[k].value, fit.numbers[k].standard_error);
    CHECK(fit.numbers[k].name == kFrameworkNumbers[k].name);
    CHECK(std::abs(fit.numbers[k].value - truth[k]) <= 3 * fit.numbers[k].standard_error);
  }
  CHECK(fit.profile.factors.linear_factor == Approx(kTruth.linear_factor).epsilon(0.01));
  CHECK(fit.assumed == std::vector<std::string>{"exchange_between_factor"});
  CHECK(fit.max_error < 0.01);
  CHECK(fit.left_out_max_error < 0.02);
  CHECK(fit.profile.left_out_error > 0);
  CHECK(fit.profile.left_out_error <= fit.left_out_max_error);
  // Memory follows from the plan: nothing of it is fitted.
  CHECK(fit.profile.factors.reserved_bytes == 0);
  CHECK(fit.profile.factors.logits_bytes_per_vocab_entry == 0);
  CHECK(fit.memory_mean_error < 1e-9);
  CHECK(fit.profile.hardware == "h100-sxm-public-fa2");
  CHECK(fit.profile.fitted_on.most_gpus == 4);
  CHECK(fit.profile.execution.overlaps_states);
  CHECK(fit.profile.execution.recompute_stops_early);
}

TEST_CASE("Steps are priced, and a profile executes them, as their source says") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  Synthetic rows = made_up_steps(hardware, 0);
  ParallelPlan eager = default_plan();
  eager.execution = kMeasuredStepExecution;
  eager.execution.kernels = &kEagerKernels;
  eager.execution.loss = &kUpcastLoss;
  eager.execution.launch_s = 0;
  rows.measurements.sources[0].plan = eager;
  const FrameworkFit fit = fit_framework_profile(rows.measurements, model_of, one_node(), hardware);
  CHECK(fit.profile.execution == eager.execution);
  CHECK_FALSE(fit.launch);
  // Eager kernels take longer, so the same times are a smaller factor on them; and they keep more.
  CHECK(fit.profile.factors.linear_factor < 0.9 * kTruth.linear_factor);
  for (const FrameworkFitRow& row : fit.rows)
    CHECK(row.predicted_memory_bytes >= row.measured_memory_bytes.value());
  CHECK(fit.memory_mean_error > 0.2);

  // Two GPUs to a micro-batch by tensor parallelism.
  ParallelPlan tensor = eager;
  tensor.tp_degree = 2;
  rows.measurements.sources[0].plan = tensor;
  const std::vector<MeasuredStep> steps = measured_steps(rows.measurements, model_of, one_node(), hardware);
  CHECK(steps.front().plan.n_gpus == 2);
  CHECK(steps.back().plan.n_gpus == 8);  // beside Ulysses of degree 4
  CHECK(allocated_bytes(steps.front()) < fit.rows.front().predicted_memory_bytes);
}

TEST_CASE("The seconds of a launch are found from steps of which some wait for their host") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  const FrameworkFactors truth{.linear_factor = 1.3, .attention_factor = 1.2, .step_s = 0.020};
  constexpr double kTrueLaunch_s = 3e-5;
  Synthetic rows(8, 0, 0);
  ParallelPlan plan = default_plan();
  plan.execution.kernels = &kEagerKernels;
  plan.execution.launch_s = 2e-5;  // as the run has timed it
  rows.measurements.sources[0].plan = plan;
  for (const int length : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}) {
    for (const char* more : {"", "/1x128"})
      rows.add("step model=llama3.1-8b layers=4 gc_layers=0 sp=1 dp=1 zero=0 packs=1x" +
                   std::to_string(length) + more,
               1);
  }
  const auto take = [&](double launch_s) {
    Synthetic noise(9, 0.01, 0);
    const std::vector<MeasuredStep> steps = measured_steps(rows.measurements, model_of, one_node(), hardware);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      rows.measurements.rows[i].samples_s = {std::exp(0.01 * noise.normal()) *
                                             steps[i].time_s(time_factors(truth), launch_s)};
    }
  };
  take(kTrueLaunch_s);
  const FrameworkFit fit = fit_framework_profile(rows.measurements, model_of, one_node(), hardware);
  REQUIRE(fit.launch);
  CHECK(std::abs(fit.launch->value - kTrueLaunch_s) <= 3 * fit.launch->standard_error);
  CHECK(fit.launch->value == Approx(kTrueLaunch_s).epsilon(0.05));
  CHECK(fit.profile.execution.launch_s == fit.launch->value);
  CHECK(fit.profile.factors.linear_factor == Approx(truth.linear_factor).epsilon(0.03));
  CHECK(fit.profile.factors.step_s == Approx(truth.step_s).epsilon(0.2));
  CHECK(fit.max_error < 0.04);
  CHECK(framework_fit_text(fit).find("launch_s  ") != std::string::npos);
  const TempFolder folder;
  const FrameworkProfile read = load_profile(folder.write("mine.json", framework_profile_json(fit)), kData);
  CHECK(read.execution.launch_s == Approx(kTrueLaunch_s).epsilon(0.05));

  // Steps that never wait tell a fixed cost of micro-batches, and not the launches. Those of the plan would
  // make GPUs wait beside it.
  take(0);
  const FrameworkFit in_time = fit_framework_profile(rows.measurements, model_of, one_node(), hardware);
  CHECK_FALSE(in_time.launch);
  CHECK(in_time.profile.execution.launch_s == 0);
  CHECK(in_time.max_error < 0.04);
}

TEST_CASE("Of many rows one in ten is left out at a time") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  Synthetic rows = made_up_steps(hardware, 0.003);
  const Synthetic more = made_up_steps(hardware, 0.003);
  CHECK(fit_framework_profile(rows.measurements, model_of, one_node(), hardware).profile.left_out_groups ==
        24);
  rows.measurements.rows.insert(rows.measurements.rows.end(), more.measurements.rows.begin(),
                                more.measurements.rows.end());
  const FrameworkFit fit = fit_framework_profile(rows.measurements, model_of, one_node(), hardware);
  CHECK(fit.profile.left_out_groups == 10);
  CHECK(fit.rows.size() == 48);
  CHECK(fit.left_out_max_error < 0.02);
}

TEST_CASE("Steps of two ways of execution make no profile, and those of a pipeline none") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  Synthetic rows = made_up_steps(hardware, 0);
  MeasurementSource other = rows.measurements.sources[0];
  other.id = "other";
  other.plan = ParallelPlan{.execution = kMeasuredStepExecution};
  other.plan->execution.launch_s = 1e-5;  // no difference: each run measures its own
  other.plan->execution.kernels = &kLigerKernels;
  other.plan->execution.overlaps_states = false;
  rows.measurements.sources.push_back(other);
  rows.measurements.rows.back().source = "other";
  rows.measurements.rows.back().place = "liger.jsonl:2";
  CHECK_THROWS_WITH(fit_framework_profile(rows.measurements, model_of, one_node(), hardware),
                    "liger.jsonl:2: expected a step that is executed as the first one, got overlaps_states "
                    "false instead of true, kernels liger instead of fused");
  rows.measurements.sources.back().plan->pp_degree = 2;
  CHECK_THROWS_WITH(fit_framework_profile(rows.measurements, model_of, one_node(), hardware),
                    Catch::StartsWith("liger.jsonl:2: step model=llama3.1-8b") &&
                        Catch::Contains("pp_degree: expected 1, because the parts of a step in a pipeline do "
                                        "not add up, got 2"));
}

TEST_CASE("What no step tells is taken as adding nothing, and known to be assumed") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  Synthetic rows = made_up_steps(hardware, 0.003);
  // One GPU, one micro-batch, no peak.
  std::erase_if(rows.measurements.rows, [](const Measurement& row) {
    return row.kernel.integer("sp") > 1 || row.kernel.packs("packs").size() > 1;
  });
  for (Measurement& row : rows.measurements.rows) row.peak_memory_bytes.reset();
  const FrameworkFit fit = fit_framework_profile(rows.measurements, model_of, one_node(), hardware);
  CHECK(fit.assumed ==
        std::vector<std::string>{"exchange_in_node_factor", "exchange_between_factor", "micro_batch_s"});
  CHECK(fit.profile.factors.exchange_in_node_factor == 1);
  CHECK(fit.profile.factors.exchange_between_factor == 1);
  CHECK(fit.profile.factors.micro_batch_s == 0);
  // Half or twice as large, for all that is known; nothing of what was fitted goes with it.
  REQUIRE(fit.profile.log_covariance.size() == 36);
  CHECK(fit.profile.log_covariance[2 * 7] == Approx(0.25));
  CHECK(fit.profile.log_covariance[3 * 7] == Approx(0.25));
  CHECK(fit.profile.log_covariance[2] == 0);
  CHECK(fit.profile.log_covariance[4 * 7] == 0);
  CHECK(fit.profile.log_covariance[0] > 0);
}

TEST_CASE("A fitted profile's file reads as the profile") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  const FrameworkFit fit =
      fit_framework_profile(made_up_steps(hardware, 0.003).measurements, model_of, one_node(), hardware,
                            {.name = "mine", .description = "a test", .hardware = "./mine-hardware.json"});
  const TempFolder folder;
  const FrameworkProfile read = load_profile(folder.write("mine.json", framework_profile_json(fit)), kData);
  CHECK(read.name == "mine");
  CHECK(read.gpu == "GPU");
  CHECK(read.hardware == "./mine-hardware.json");
  CHECK(read.fitted_on.models == std::vector<std::string>{"llama3.1-8b"});
  CHECK(read.source == "fitted to 24 measured steps");
  const TimeFactors fitted = time_factors(fit.profile.factors);
  for (std::size_t k = 0; k < kNTimeFactors; ++k)
    CHECK(time_factors(read.factors)[k] == Approx(fitted[k]).epsilon(1e-5));
  REQUIRE(read.log_covariance.size() == 36);
  for (std::size_t i = 0; i < 36; ++i)
    CHECK(read.log_covariance[i] == Approx(fit.profile.log_covariance[i]).epsilon(1e-5));
  CHECK(read.left_out_error.value() == Approx(fit.profile.left_out_error.value()).epsilon(1e-5));
  CHECK(read.execution == fit.profile.execution);
  CHECK(framework_profile_json(fit).find("launch_s") == std::string::npos);
  FrameworkFit of_graphs = fit;
  of_graphs.profile.execution.launch_s = 0;
  CHECK(load_profile(folder.write("graphs.json", framework_profile_json(of_graphs)), kData)
            .execution.launch_s == 0);
  CHECK(framework_fit_text(fit).find("exchange_between_factor                 1  assumed") !=
        std::string::npos);
}

TEST_CASE("A CPU's training steps take what its kernels do, measured apart from them") {
  const std::string folder = packsim_test::source_dir() + "/tests/cli/cpu/";
  const MeasurementFile kernels = read_measurements(folder + "kernels.jsonl");
  const MeasurementFile steps = read_measurements(folder + "steps.jsonl");
  const HardwareProfile hardware = fit_hardware_profile(kernels.measurements, {.name = "cpu"}).profile;
  const auto model = [](const std::string& path) {
    return load_model(packsim_test::source_dir() + "/" + path, kData);
  };
  const FrameworkFit fit = fit_framework_profile(steps.measurements, model, one_node(), hardware);
  // Thirteen steps that differ by 5 % from one run to the next.
  CHECK(std::abs(fit.profile.factors.linear_factor - 1) < 0.05);
  CHECK(std::abs(fit.profile.factors.attention_factor - 1) < 2 * fit.numbers[1].standard_error);
  CHECK(fit.profile.factors.step_s < 0.05);
  CHECK(fit.mean_error < 0.03);
  CHECK(fit.left_out_mean_error < 0.04);
  CHECK(fit.left_out_max_error < 0.1);
}

TEST_CASE("Too few steps, and steps that cannot exist, are refused") {
  const HardwareProfile hardware = load_hardware_profile("h100-sxm-public-fa2", kData);
  Synthetic rows = made_up_steps(hardware, 0);
  rows.measurements.rows.resize(3);
  CHECK_THROWS_WITH(fit_framework_profile(rows.measurements, model_of, one_node(), hardware),
                    "expected 4 measured steps or more for a framework profile, got 3");
  rows.add("step model=llama3.1-8b layers=4 gc_layers=0 sp=5 dp=1 zero=1 packs=1x4096", 1);
  rows.measurements.rows.back().place = "steps.jsonl:9";
  CHECK_THROWS_WITH(fit_framework_profile(rows.measurements, model_of, one_node(), hardware),
                    Catch::StartsWith("steps.jsonl:9: step model=llama3.1-8b") &&
                        Catch::Contains("sp_degree: expected a divisor of the model's 32 attention heads"));
}
