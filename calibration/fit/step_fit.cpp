#include "calibration/fit/step_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>

#include "models/memory.hpp"
#include "models/step_cost_model.hpp"

namespace packsim {
namespace {

// A published step time is printed with three digits and read off a cluster: two percent.
constexpr double kRowSpread = 0.02;

// What a number is expected to be before the rows are looked at, and how loosely (standard deviation of the
// log). NVLink all-to-all and inter-node rates: 8 x H100 with 400 Gb/s NICs, copies included.
struct Prior {
  double FrameworkProfile::*number;
  double start;
  double expected;  // 0: none
  double spread;
};
constexpr Prior kPriors[] = {
    {&FrameworkProfile::linear_flop_per_s, 430e12, 0, 0},
    {&FrameworkProfile::attention_flop_per_s, 330e12, 0, 0},
    {&FrameworkProfile::intra_node_bytes_per_s, 200e9, 200e9, 0.4},
    {&FrameworkProfile::inter_node_bytes_per_s, 25e9, 25e9, 0.5},
    {&FrameworkProfile::micro_batch_s, 0.03, 0.03, 1.0},
    {&FrameworkProfile::iteration_s, 0.10, 0.10, 1.0},
};
constexpr double kStartDocumentTokens = 5000;

struct TimeFit {
  FrameworkProfile profile;
  std::map<std::string, double> document_tokens;
};

double predict_s(const StepFitProblem& problem, const TimeFit& fit, const StepRow& row) {
  const auto found = fit.document_tokens.find(row.table);
  const double document =
      found == fit.document_tokens.end() ? static_cast<double>(row.pack_tokens) : found->second;
  const StepCostModel model(problem.model, problem.cluster, fit.profile);
  MicroBatch batch;
  batch.tokens = row.pack_tokens;
  batch.computed_pairs =
      static_cast<std::int64_t>(std::llround(static_cast<double>(row.pack_tokens) * document));
  const std::int64_t tokens_per_rank =
      problem.tokens_per_iteration / (problem.cluster.n_gpus() / row.sp_degree);
  const auto n_micro_batches = static_cast<double>(tokens_per_rank / row.pack_tokens);
  const MicroBatchTime time =
      model.micro_batch(batch, {.sp_degree = row.sp_degree, .gc_layers = row.gc_layers});
  return n_micro_batches * time.total_s() + model.iteration_s();
}

// Levenberg-Marquardt on the logarithms of all numbers, with a numerical Jacobian: eight numbers, sixteen
// rows.
Eigen::VectorXd minimise(const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& residuals,
                         Eigen::VectorXd x) {
  double damping = 1e-2;
  Eigen::VectorXd r = residuals(x);
  for (int iteration = 0; iteration < 500; ++iteration) {
    Eigen::MatrixXd jacobian(r.size(), x.size());
    for (Eigen::Index k = 0; k < x.size(); ++k) {
      constexpr double kStep = 1e-5;
      Eigen::VectorXd moved = x;
      moved[k] += kStep;
      jacobian.col(k) = (residuals(moved) - r) / kStep;
    }
    const Eigen::MatrixXd normal = jacobian.transpose() * jacobian;
    Eigen::MatrixXd damped = normal;
    damped.diagonal() *= 1 + damping;
    const Eigen::VectorXd step = damped.ldlt().solve(-jacobian.transpose() * r);
    const Eigen::VectorXd tried = residuals(x + step);
    if (tried.squaredNorm() <= r.squaredNorm()) {
      x += step;
      r = tried;
      damping = std::max(damping / 4, 1e-12);
      if (step.norm() < 1e-10) break;
    } else {
      damping *= 8;
      if (damping > 1e12) break;
    }
  }
  return x;
}

TimeFit fit_times(const StepFitProblem& problem, const std::vector<const StepRow*>& rows,
                  const std::string& single_document_table) {
  TimeFit start;
  for (const Prior& prior : kPriors) start.profile.*prior.number = prior.start;
  for (const StepRow* row : rows) {
    if (row->table != single_document_table) start.document_tokens[row->table] = kStartDocumentTokens;
  }
  const Eigen::Index n_rates = std::size(kPriors);
  const auto unpack = [&](const Eigen::VectorXd& x) {
    TimeFit fit = start;
    Eigen::Index k = 0;
    for (const Prior& prior : kPriors) fit.profile.*prior.number *= std::exp(x[k++]);
    for (auto& [table, tokens] : fit.document_tokens) tokens *= std::exp(x[k++]);
    return fit;
  };
  const auto residuals = [&](const Eigen::VectorXd& x) {
    const TimeFit fit = unpack(x);
    std::vector<double> r;
    for (const StepRow* row : rows)
      r.push_back(std::log(predict_s(problem, fit, *row) / row->step_s) / kRowSpread);
    for (const Prior& prior : kPriors) {
      if (prior.expected > 0)
        r.push_back(std::log(fit.profile.*prior.number / prior.expected) / prior.spread);
    }
    return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(r.data(), static_cast<Eigen::Index>(r.size())));
  };
  const auto n = n_rates + static_cast<Eigen::Index>(start.document_tokens.size());
  return unpack(minimise(residuals, Eigen::VectorXd::Zero(n)));
}

// Squared error in checkpointed layers over all rows; a wrong out-of-memory verdict counts as ten layers.
double memory_error(const StepFitProblem& problem, const FrameworkProfile& profile) {
  double error = 0;
  for (const StepRow& row : problem.rows) {
    const double tokens_per_gpu = static_cast<double>(row.pack_tokens) / row.sp_degree;
    const int layers =
        fewest_gc_layers(problem.model, problem.cluster, profile, problem.zero_stage, tokens_per_gpu);
    if (row.out_of_memory != (layers < 0)) {
      error += 100;
    } else if (!row.out_of_memory) {
      error += (layers - row.gc_layers) * (layers - row.gc_layers);
    }
  }
  return error;
}

// The verdicts are steps, so whole ranges of the two numbers tie: a grid, and the middle of the best cells.
void fit_memory(const StepFitProblem& problem, FrameworkProfile& profile) {
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  double best = 1e300;
  double reserved_sum = 0;
  double logits_sum = 0;
  int n_best = 0;
  for (int i = 0; i <= 200; ++i) {
    for (int j = 0; j <= 140; ++j) {
      profile.reserved_bytes = i * 0.1 * kGibibyte;
      profile.logits_bytes_per_vocab_entry = j * 0.1;
      const double error = memory_error(problem, profile);
      if (error > best) continue;
      if (error < best) {
        best = error;
        reserved_sum = logits_sum = 0;
        n_best = 0;
      }
      reserved_sum += profile.reserved_bytes;
      logits_sum += profile.logits_bytes_per_vocab_entry;
      ++n_best;
    }
  }
  profile.reserved_bytes = reserved_sum / n_best;
  profile.logits_bytes_per_vocab_entry = logits_sum / n_best;
}

}  // namespace

StepFit fit_steps(const StepFitProblem& problem, const std::string& single_document_table) {
  std::vector<const StepRow*> timed;
  for (const StepRow& row : problem.rows) {
    if (!row.out_of_memory) timed.push_back(&row);
  }
  const TimeFit fit = fit_times(problem, timed, single_document_table);
  StepFit result;
  result.profile = fit.profile;
  result.effective_document_tokens = fit.document_tokens;
  fit_memory(problem, result.profile);

  for (const StepRow& row : problem.rows) {
    const double tokens_per_gpu = static_cast<double>(row.pack_tokens) / row.sp_degree;
    result.predicted_gc_layers.push_back(
        fewest_gc_layers(problem.model, problem.cluster, result.profile, problem.zero_stage, tokens_per_gpu));
    result.predicted_s.push_back(row.out_of_memory ? 0 : predict_s(problem, fit, row));
    if (row.out_of_memory) {
      result.left_out_s.push_back(0);
      continue;
    }
    std::vector<const StepRow*> others = timed;
    std::erase(others, &row);
    result.left_out_s.push_back(predict_s(problem, fit_times(problem, others, single_document_table), row));
    const double error = std::abs(result.predicted_s.back() / row.step_s - 1);
    const double left_out_error = std::abs(result.left_out_s.back() / row.step_s - 1);
    result.mean_error += error / static_cast<double>(timed.size());
    result.max_error = std::max(result.max_error, error);
    result.left_out_mean_error += left_out_error / static_cast<double>(timed.size());
    result.left_out_max_error = std::max(result.left_out_max_error, left_out_error);
  }
  return result;
}

}  // namespace packsim
