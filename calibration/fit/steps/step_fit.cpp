#include "calibration/fit/steps/step_fit.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "calibration/fit/robust_least_squares.hpp"
#include "calibration/fit/steps/memory_fit.hpp"
#include "calibration/fit/steps/step_terms.hpp"

namespace packsim {
namespace {

// A published step time is printed with three digits and read off a cluster: two percent.
constexpr double kRowSpread = 0.02;

// Where the search starts, what a number is expected to be before the rows are looked at, and how loosely
// (standard deviation of the log). Exchanges: the profile's rates are NCCL's own, measured alone; a framework
// waits for the slowest GPU and shares links.
struct Prior {
  double start;
  double expected;  // 0: none
  double spread;
};
constexpr std::array<Prior, kNTimeFactors> kPriors = {{
    {1.5, 0, 0},        // linear_factor
    {1.0, 0, 0},        // attention_factor
    {1.5, 1.5, 0.5},    // exchange_in_node_factor
    {1.5, 1.5, 0.5},    // exchange_between_factor
    {0.03, 0.03, 1.0},  // micro_batch_s
    {0.02, 0.02, 1.0},  // step_s
}};
constexpr std::size_t kAttention = 1;
// The sum of squares has a minimum for each number of documents in a pack.
constexpr double kStartDocumentTokens[] = {3000, 5000, 7000, 9000, 12000};

// A timed row, and what its attention takes by the length of its documents.
class TimedRow {
 public:
  TimedRow(const StepFitProblem& problem, const StepRow& row)
      : row_(&row),
        pricer_(problem.model, problem.cluster, problem.plan_of(row), problem.hardware),
        n_micro_batches_(problem.micro_batches_of(row)) {
    const std::vector<StepPack> packs(static_cast<std::size_t>(n_micro_batches_),
                                      pack_of(static_cast<std::int32_t>(row.pack_tokens)));
    one_document_ = pricer_.step(packs);
  }

  const StepRow& row() const { return *row_; }

  /// document_tokens: 0 for packs of one document; between whole lengths a straight line.
  double time_s(const TimeFactors& factors, double document_tokens) {
    if (document_tokens <= 0 || document_tokens >= static_cast<double>(row_->pack_tokens))
      return one_document_.time_s(factors);
    const double low = std::floor(std::max(1.0, document_tokens));
    const auto length = static_cast<std::int32_t>(low);
    const double part = std::max(0.0, document_tokens - low);
    StepTerms terms = one_document_;
    terms.part_s[kAttention] = (1 - part) * attention_s(length) + part * attention_s(length + 1);
    return terms.time_s(factors);
  }

 private:
  StepPack pack_of(std::int32_t document_tokens) const {
    StepPack pack{.tokens = row_->pack_tokens};
    for (std::int64_t left = row_->pack_tokens; left > 0; left -= document_tokens)
      pack.lengths_tokens.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(left, document_tokens)));
    return pack;
  }

  double attention_s(std::int32_t document_tokens) {
    const auto [place, is_new] = by_document_.try_emplace(document_tokens);
    if (is_new)
      place->second = static_cast<double>(n_micro_batches_) * pricer_.attention_s(pack_of(document_tokens));
    return place->second;
  }

  const StepRow* row_;
  StepTermsPricer pricer_;
  std::int64_t n_micro_batches_;
  StepTerms one_document_;
  std::map<std::int32_t, double> by_document_;
};

using TimedRows = std::vector<TimedRow*>;

struct TimeFit {
  TimeFactors factors = {};
  std::map<std::string, double> document_tokens;  // by table
  Eigen::MatrixXd log_covariance;                 // of the factors
  double squares = 0;                             // what the fit has made least

  double predicted_s(TimedRow& row) const {
    const auto found = document_tokens.find(row.row().table);
    return row.time_s(factors, found == document_tokens.end() ? 0 : found->second);
  }
};

TimeFit unpack(const TimeFit& start, const Eigen::VectorXd& x) {
  TimeFit fit = start;
  Eigen::Index k = 0;
  for (double& factor : fit.factors) factor *= std::exp(x[k++]);
  for (auto& [table, tokens] : fit.document_tokens) tokens *= std::exp(x[k++]);
  return fit;
}

TimeFit fit_times_from(const TimeFit& start, const TimedRows& rows) {
  RobustOptions options{.scale = kRowSpread};
  for (const Prior& prior : kPriors) options.n_priors += prior.expected > 0 ? 1 : 0;
  const auto n_rows = static_cast<Eigen::Index>(rows.size());
  const Residuals residuals = [&](const Eigen::VectorXd& x) {
    const TimeFit fit = unpack(start, x);
    Eigen::VectorXd r(n_rows + options.n_priors);
    Eigen::Index i = 0;
    for (TimedRow* row : rows) r[i++] = std::log(fit.predicted_s(*row) / row->row().step_s);
    for (std::size_t k = 0; k < kNTimeFactors; ++k) {
      const Prior& prior = kPriors[k];
      if (prior.expected > 0) r[i++] = std::log(fit.factors[k] / prior.expected) / prior.spread;
    }
    return r;
  };
  const auto n = static_cast<Eigen::Index>(kNTimeFactors + start.document_tokens.size());
  const RobustFit found = robust_least_squares(residuals, Eigen::VectorXd::Zero(n), options);
  TimeFit fit = unpack(start, found.x);
  constexpr auto kN = static_cast<Eigen::Index>(kNTimeFactors);
  fit.log_covariance = found.covariance.topLeftCorner(kN, kN);
  fit.squares = found.residuals.head(n_rows).squaredNorm() / (kRowSpread * kRowSpread) +
                found.residuals.tail(options.n_priors).squaredNorm();
  return fit;
}

TimeFit fit_times(const TimedRows& rows, const std::string& single_document_table) {
  TimeFit best;
  best.squares = 1e300;
  for (const double document_tokens : kStartDocumentTokens) {
    TimeFit start;
    for (std::size_t k = 0; k < kNTimeFactors; ++k) start.factors[k] = kPriors[k].start;
    for (const TimedRow* row : rows) {
      if (row->row().table != single_document_table)
        start.document_tokens[row->row().table] = document_tokens;
    }
    const TimeFit fit = fit_times_from(start, rows);
    if (fit.squares < best.squares) best = fit;
  }
  return best;
}

void set_times(const TimeFit& times, StepFit& fit) {
  set_time_factors(fit.profile.factors, times.factors);
  fit.effective_document_tokens = times.document_tokens;
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    const auto row = static_cast<Eigen::Index>(k);
    const double log_error = std::sqrt(times.log_covariance(row, row));
    fit.numbers.push_back(
        {std::string(kFrameworkNumbers[k].name), times.factors[k], times.factors[k] * log_error});
    for (Eigen::Index other = 0; other < times.log_covariance.cols(); ++other)
      fit.profile.log_covariance.push_back(times.log_covariance(row, other));
  }
}

void set_memory(const StepFitProblem& problem, StepFit& fit) {
  const MemoryAssumptions memory = fit_memory_verdicts(problem);
  fit.profile.factors.reserved_bytes = *memory.reserved_bytes;
  fit.profile.factors.logits_bytes_per_vocab_entry = *memory.logits_bytes_per_vocab_entry;
  for (const StepRow& row : problem.rows) {
    fit.predicted_gc_layers.push_back(
        fewest_gc_layers(problem.model, problem.cluster, problem.plan_of(row), memory, tokens_per_gpu(row)));
  }
}

std::size_t index_of(const TimedRow& row, const StepFitProblem& problem) {
  return static_cast<std::size_t>(&row.row() - problem.rows.data());
}

void leave_rows_out(const StepFitProblem& problem, const TimedRows& rows, StepFit& fit) {
  fit.left_out_s.assign(problem.rows.size(), 0);
  const auto n = static_cast<double>(rows.size());
  double squares = 0;
  for (TimedRow* row : rows) {
    TimedRows others = rows;
    std::erase(others, row);
    const double left_out_s = fit_times(others, problem.single_document_table).predicted_s(*row);
    fit.left_out_s[index_of(*row, problem)] = left_out_s;
    const double error = std::abs(left_out_s / row->row().step_s - 1);
    fit.left_out_mean_error += error / n;
    fit.left_out_max_error = std::max(fit.left_out_max_error, error);
    squares += error * error / n;
  }
  fit.profile.left_out_error = std::sqrt(squares);
  fit.profile.left_out_groups = static_cast<int>(rows.size());
}

}  // namespace

ParallelPlan StepFitProblem::plan_of(const StepRow& row) const {
  ParallelPlan row_plan = plan;
  row_plan.sequence.ulysses = row.sequence.ulysses;
  row_plan.gc_layers = row.gc_layers;
  return row_plan;
}

std::int64_t StepFitProblem::micro_batches_of(const StepRow& row) const {
  return tokens_per_iteration / plan_of(row).dp_degree() / row.pack_tokens;
}

StepFit fit_steps(const StepFitProblem& problem, bool leaves_rows_out) {
  std::vector<TimedRow> timed;
  timed.reserve(problem.rows.size());
  for (const StepRow& row : problem.rows) {
    if (!row.out_of_memory) timed.emplace_back(problem, row);
  }
  TimedRows all;
  for (TimedRow& row : timed) all.push_back(&row);
  const TimeFit times = fit_times(all, problem.single_document_table);
  StepFit fit;
  set_times(times, fit);
  set_memory(problem, fit);
  fit.profile.execution = problem.plan.execution;
  for (const StepRow& row : problem.rows)
    add_step(fit.profile.fitted_on, problem.model, problem.cluster.gpu.driver_name, problem.plan_of(row));
  fit.predicted_s.assign(problem.rows.size(), 0);
  for (TimedRow& row : timed) {
    const double predicted_s = times.predicted_s(row);
    fit.predicted_s[index_of(row, problem)] = predicted_s;
    const double error = std::abs(predicted_s / row.row().step_s - 1);
    fit.mean_error += error / static_cast<double>(timed.size());
    fit.max_error = std::max(fit.max_error, error);
  }
  if (leaves_rows_out) leave_rows_out(problem, all, fit);
  return fit;
}

}  // namespace packsim
