#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "calibration/fit/curves/fit_rows.hpp"
#include "calibration/fit/robust_least_squares.hpp"
#include "models/kernels/kernel_times.hpp"

namespace packsim {

/// A row of attention with its documents parsed.
struct AttentionPack {
  FitRow* fit = nullptr;
  std::vector<std::pair<double, double>> runs;  ///< documents, length
  double longest = 0;
  double heads = 0;
  double kv_heads = 0;
  std::string curve_key;

  bool has_length(double length) const {
    return std::ranges::any_of(runs, [&](const auto& run) { return run.second == length; });
  }
};
using AttentionPacks = std::vector<const AttentionPack*>;

AttentionPack attention_pack_of(FitRow& row);
FitRows rows_of(const AttentionPacks& packs);

/// The numbers of the model in the order of these vectors.
inline const std::vector<std::string> kAttentionNumbers = {
    "launch_s", "tail_s_per_token", "s_per_pair", "s_per_token", "s_per_document", "s_per_kv_token"};
AttentionWork attention_work_of(const std::vector<double>& numbers);
/// Where a search starts: rates of a GPU of our days, 500 TFLOP/s and some microseconds.
std::vector<double> attention_start_of(const std::string& pass, double head_dim);
/// Numbers that start at 0 stay there.
PositiveFit fit_attention_numbers(const AttentionPacks& packs, const std::vector<double>& start);

/// One document's time over its length for one head shape: the model's, times a factor that is fitted at
/// `lengths` and interpolated between.
struct HeadsFit {
  std::vector<double> lengths;
  std::vector<double> log_factors;
  std::vector<double> standard_errors = {};  ///< of log_factors
  Eigen::VectorXd residuals = {};
  Eigen::VectorXd weights = {};

  double factor(double length) const;
};

/// Packs of one head shape. model_scale: robust deviation of the model's residuals. Where a factor is told by
/// few rows or none (documents too short or too few to matter beside the launch), it stays near 1.
HeadsFit fit_heads(const AttentionPacks& packs, const std::vector<double>& numbers, double model_scale);

double pack_time_s(const AttentionPack& pack, const std::vector<double>& numbers, const HeadsFit& fit);

}  // namespace packsim
