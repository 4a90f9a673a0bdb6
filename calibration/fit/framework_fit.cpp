#include "calibration/fit/framework_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "calibration/fit/robust_least_squares.hpp"
#include "models/memory.hpp"
#include "models/step_cost_model.hpp"

namespace packsim {
namespace {

// NVLink all-to-all and inter-node rates as in step_fit.cpp: 8 x H100 with 400 Gb/s NICs, copies included.
constexpr double kAssumedIntraNodeBytesPerS = 200e9;
constexpr double kAssumedInterNodeBytesPerS = 25e9;
// A rate that the rows do not slow down by is as good as none.
constexpr double kNoLimit = 1e30;

// linear, attention, intra-node, inter-node: seconds a flop or byte; then seconds a micro-batch and a step.
constexpr std::size_t kNNumbers = 6;
const std::vector<std::string> kNames = {"linear_flop_per_s",      "attention_flop_per_s",
                                         "intra_node_bytes_per_s", "inter_node_bytes_per_s",
                                         "micro_batch_s",          "iteration_s"};

struct Step {
  const Measurement* row = nullptr;
  Transformer model;
  Cluster cluster;
  GroupPlan plan;
  int zero_stage = 0;
  std::vector<MicroBatch> micro_batches;
  std::int64_t largest_tokens = 0;
};

Step step_of(const Measurement& row, const std::function<Transformer(const std::string&)>& model,
             const Cluster& node) {
  const KernelCase& kernel = row.kernel;
  Step step{
      .row = &row, .model = model(kernel.value("model")), .cluster = node, .plan = {}, .micro_batches = {}};
  step.model.n_layers =
      static_cast<int>(std::min<std::int64_t>(step.model.n_layers, kernel.integer("layers")));
  step.plan = {.sp_degree = static_cast<int>(kernel.integer("sp")),
               .gc_layers = static_cast<int>(kernel.integer("gc_layers"))};
  step.zero_stage = static_cast<int>(kernel.integer("zero"));
  const auto n_gpus = static_cast<int>(kernel.integer("sp") * kernel.integer("dp"));
  step.cluster.gpus_per_node = std::min(node.gpus_per_node, n_gpus);
  step.cluster.nodes = std::max(1, n_gpus / step.cluster.gpus_per_node);
  for (const Documents& pack : kernel.packs("packs")) {
    MicroBatch batch;
    batch.tokens = pack.tokens();
    batch.computed_pairs = static_cast<std::int64_t>(pack.squared_tokens());
    step.largest_tokens = std::max(step.largest_tokens, batch.tokens);
    step.micro_batches.push_back(batch);
  }
  return step;
}

FrameworkProfile profile_of(const std::vector<double>& numbers) {
  const auto rate = [](double seconds) { return seconds > 0 ? 1 / seconds : kNoLimit; };
  FrameworkProfile profile;
  profile.linear_flop_per_s = rate(numbers[0]);
  profile.attention_flop_per_s = rate(numbers[1]);
  profile.intra_node_bytes_per_s = rate(numbers[2]);
  profile.inter_node_bytes_per_s = rate(numbers[3]);
  profile.micro_batch_s = numbers[4];
  profile.iteration_s = numbers[5];
  return profile;
}

double step_s(const Step& step, const FrameworkProfile& profile) {
  const StepCostModel model(step.model, step.cluster, profile);
  double time_s = model.iteration_s();
  for (const MicroBatch& batch : step.micro_batches) time_s += model.micro_batch(batch, step.plan).total_s();
  return time_s;
}

using Steps = std::vector<const Step*>;

// Numbers that the rows cannot tell start, and stay, at 0: rates without traffic, the micro-batch's cost
// where every step has as many.
std::vector<double> start_of(const Steps& steps) {
  bool in_node = false;
  bool between_nodes = false;
  std::set<std::size_t> counts;
  for (const Step* step : steps) {
    const AlltoallBytes bytes = ulysses_bytes_per_token(step->model, step->cluster, step->plan.sp_degree);
    in_node = in_node || bytes.intra_node > 0;
    between_nodes = between_nodes || bytes.inter_node > 0;
    counts.insert(step->micro_batches.size());
  }
  return {1 / 400e12,
          1 / 300e12,
          in_node ? 1 / kAssumedIntraNodeBytesPerS : 0,
          between_nodes ? 1 / kAssumedInterNodeBytesPerS : 0,
          counts.size() > 1 ? 1e-3 : 0,
          1e-3};
}

PositiveFit fit_times(const Steps& steps) {
  const auto n = static_cast<Eigen::Index>(steps.size());
  Eigen::VectorXd measured_s(n);
  for (Eigen::Index i = 0; i < n; ++i) measured_s[i] = steps[static_cast<std::size_t>(i)]->row->median_s();
  // Times are linear in the numbers: one column for each, from the model that prices steps.
  Eigen::MatrixXd columns(n, static_cast<Eigen::Index>(kNNumbers));
  for (Eigen::Index i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < kNNumbers; ++k) {
      std::vector<double> one(kNNumbers, 0.0);
      one[k] = 1;
      columns(i, static_cast<Eigen::Index>(k)) = step_s(*steps[static_cast<std::size_t>(i)], profile_of(one));
    }
  }
  const auto model = [&](const std::vector<double>& numbers) {
    return Eigen::VectorXd(columns * Eigen::Map<const Eigen::VectorXd>(numbers.data(), columns.cols()));
  };
  return fit_positive(model, measured_s, start_of(steps));
}

MemoryUse memory_of(const Step& step, const FrameworkProfile& profile) {
  const double tokens = static_cast<double>(step.largest_tokens) / step.plan.sp_degree;
  return peak_memory(step.model, step.cluster, profile, step.zero_stage, tokens, step.plan.gc_layers);
}

// Reserved bytes and work space of the loss: least squares on bytes, neither under 0.
void fit_memory(const std::vector<Step>& steps, FrameworkFit& fit) {
  std::vector<std::pair<double, double>> rows;  // what one byte a vocabulary entry makes, bytes to explain
  FrameworkProfile unit;
  unit.logits_bytes_per_vocab_entry = 1;
  for (const Step& step : steps) {
    if (step.row->peak_memory_bytes == 0) continue;
    const MemoryUse use = memory_of(step, unit);
    rows.emplace_back(use.logits_bytes, step.row->peak_memory_bytes - (use.total_bytes() - use.logits_bytes));
  }
  FittedNumber reserved{"reserved_bytes", 0, 0};
  FittedNumber logits{"logits_bytes_per_vocab_entry", 0, 0};
  if (rows.size() < 2) {
    fit.assumed.insert(fit.assumed.end(), {reserved.name, logits.name});
  } else {
    const auto n = static_cast<Eigen::Index>(rows.size());
    Eigen::MatrixXd columns(n, 2);
    Eigen::VectorXd bytes(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      columns(i, 0) = 1;
      columns(i, 1) = rows[static_cast<std::size_t>(i)].first;
      bytes[i] = rows[static_cast<std::size_t>(i)].second;
    }
    Eigen::Vector2d x = columns.colPivHouseholderQr().solve(bytes);
    if (x[1] < 0) x = Eigen::Vector2d(std::max(0.0, bytes.mean()), 0);
    if (x[0] < 0)
      x = Eigen::Vector2d(0, std::max(0.0, columns.col(1).dot(bytes) / columns.col(1).squaredNorm()));
    const double variance = (columns * x - bytes).squaredNorm() / std::max(1.0, static_cast<double>(n - 2));
    const Eigen::Matrix2d covariance = variance * (columns.transpose() * columns).inverse();
    reserved = {reserved.name, x[0], std::sqrt(std::abs(covariance(0, 0)))};
    logits = {logits.name, x[1], std::sqrt(std::abs(covariance(1, 1)))};
  }
  fit.profile.reserved_bytes = reserved.value;
  fit.profile.logits_bytes_per_vocab_entry = logits.value;
  fit.numbers.push_back(reserved);
  fit.numbers.push_back(logits);
}

void set_numbers(const PositiveFit& times, FrameworkFit& fit) {
  fit.profile = profile_of(times.values);
  for (std::size_t k = 0; k < kNNumbers; ++k) {
    const bool is_rate = k < 4;
    const double value = times.values[k];
    if (value == 0) fit.assumed.push_back(kNames[k]);
    FittedNumber number{kNames[k], value, times.standard_errors[k]};
    if (is_rate && value > 0) number = {kNames[k], 1 / value, times.standard_errors[k] / (value * value)};
    fit.numbers.push_back(number);
  }
  if (times.values[2] == 0)
    fit.numbers[2].value = fit.profile.intra_node_bytes_per_s = kAssumedIntraNodeBytesPerS;
  if (times.values[3] == 0)
    fit.numbers[3].value = fit.profile.inter_node_bytes_per_s = kAssumedInterNodeBytesPerS;
}

void add_rows(const std::vector<Step>& steps, FrameworkFit& fit) {
  double memory_errors = 0;
  int n_memory = 0;
  for (const Step& step : steps) {
    FrameworkFitRow row{.step = step.row->kernel.text(), .measured_s = step.row->median_s()};
    row.predicted_s = step_s(step, fit.profile);
    Steps others;
    for (const Step& other : steps) {
      if (&other != &step) others.push_back(&other);
    }
    FrameworkProfile without = profile_of(fit_times(others).values);
    if (without.intra_node_bytes_per_s == kNoLimit)
      without.intra_node_bytes_per_s = kAssumedIntraNodeBytesPerS;
    if (without.inter_node_bytes_per_s == kNoLimit)
      without.inter_node_bytes_per_s = kAssumedInterNodeBytesPerS;
    row.left_out_s = step_s(step, without);
    row.measured_memory_bytes = step.row->peak_memory_bytes;
    row.predicted_memory_bytes = memory_of(step, fit.profile).total_bytes();
    const auto n = static_cast<double>(steps.size());
    const double error = std::abs(row.predicted_s / row.measured_s - 1);
    const double left_out_error = std::abs(row.left_out_s / row.measured_s - 1);
    fit.mean_error += error / n;
    fit.max_error = std::max(fit.max_error, error);
    fit.left_out_mean_error += left_out_error / n;
    fit.left_out_max_error = std::max(fit.left_out_max_error, left_out_error);
    if (row.measured_memory_bytes > 0) {
      memory_errors += std::abs(row.predicted_memory_bytes / row.measured_memory_bytes - 1);
      ++n_memory;
    }
    fit.rows.push_back(std::move(row));
  }
  fit.memory_mean_error = n_memory > 0 ? memory_errors / n_memory : 0;
}

}  // namespace

FrameworkFit fit_framework_profile(const Measurements& measurements,
                                   const std::function<Transformer(const std::string&)>& model,
                                   const Cluster& cluster, const FrameworkFitOptions& options) {
  constexpr std::size_t kFewestSteps = 4;
  std::vector<Step> steps;
  std::set<std::string> models;
  for (const Measurement& row : measurements.rows) {
    if (row.kernel.kernel() != "step") continue;
    steps.push_back(step_of(row, model, cluster));
    models.insert(row.kernel.value("model"));
  }
  if (steps.size() < kFewestSteps) {
    throw std::invalid_argument("expected " + std::to_string(kFewestSteps) +
                                " measured steps or more for a framework profile, got " +
                                std::to_string(steps.size()));
  }
  Steps all;
  for (const Step& step : steps) all.push_back(&step);
  FrameworkFit fit;
  fit.description = options.description;
  set_numbers(fit_times(all), fit);
  fit_memory(steps, fit);
  const Step& largest =
      *std::ranges::max_element(steps, {}, [](const Step& step) { return step.cluster.n_gpus(); });
  fit.profile.name = options.name;
  fit.profile.gpu = measurements.source_of(*largest.row).gpu;
  fit.profile.source = "fitted to " + std::to_string(steps.size()) + " measured steps";
  for (const std::string& name : models) fit.profile.model += (fit.profile.model.empty() ? "" : ", ") + name;
  fit.profile.n_gpus = largest.cluster.n_gpus();
  fit.profile.zero_stage = std::min(3, largest.zero_stage);
  add_rows(steps, fit);
  return fit;
}

}  // namespace packsim
