#include "calibration/fit/curves/attention_packs.hpp"

#include <cmath>
#include <set>

namespace packsim {

AttentionPack attention_pack_of(FitRow& row) {
  const KernelCase& kernel = row.row->kernel;
  AttentionPack pack{.fit = &row,
                     .runs = {},
                     .longest = 0,
                     .heads = static_cast<double>(kernel.integer("heads")),
                     .kv_heads = static_cast<double>(kernel.integer("kv_heads")),
                     .curve_key = curve_place(kernel).key};
  const Documents documents = kernel.documents("docs");
  for (const DocumentRun& run : documents.runs)
    pack.runs.emplace_back(static_cast<double>(run.n_documents), static_cast<double>(run.length_tokens));
  pack.longest = static_cast<double>(documents.longest_tokens());
  return pack;
}

AttentionWork attention_work_of(const std::vector<double>& numbers) {
  return {numbers[2], numbers[3], numbers[4], numbers[5]};
}

std::vector<double> attention_start_of(const std::string& pass, double head_dim) {
  const double passes = pass == "bwd" ? 2.5 : 1;
  const double pair_s = passes * 2 * head_dim / 5e14;
  return {1e-5, passes * head_dim * 1e-10, pair_s, 500 * pair_s, 1e-8, 1e-10};
}

FitRows rows_of(const AttentionPacks& packs) {
  FitRows rows;
  for (const AttentionPack* pack : packs) rows.push_back(pack->fit);
  return rows;
}

PositiveFit fit_attention_numbers(const AttentionPacks& packs, const std::vector<double>& start) {
  const auto time_s = [&](const std::vector<double>& numbers, std::size_t i) {
    const AttentionPack& pack = *packs[i];
    const AttentionWork work = attention_work_of(numbers);
    double work_s = 0;
    for (const auto& [n_documents, length] : pack.runs)
      work_s += n_documents * work.document_s(length, pack.heads, pack.kv_heads);
    return attention_pack_s(numbers[0], numbers[1] * pack.longest, work_s);
  };
  return fit_times_of(rows_of(packs), time_s, start);
}

double HeadsFit::factor(double length) const {
  const double inside = std::clamp(length, lengths.front(), lengths.back());
  return std::exp(log_between(lengths, log_factors, inside, {}));
}

double pack_time_s(const AttentionPack& pack, const std::vector<double>& numbers, const HeadsFit& fit) {
  const AttentionWork work = attention_work_of(numbers);
  double work_s = 0;
  for (const auto& [n, length] : pack.runs)
    work_s += n * work.document_s(length, pack.heads, pack.kv_heads) * fit.factor(length);
  return attention_pack_s(numbers[0], numbers[1] * pack.longest, work_s);
}

namespace {

// Lengths that a row of equal documents measures, and where there are none (real mixes alone) powers of two.
std::vector<double> lengths_of(const AttentionPacks& packs) {
  std::set<double> lengths;
  double least = INFINITY;
  double most = 0;
  for (const AttentionPack* pack : packs) {
    if (pack->runs.size() == 1) lengths.insert(pack->longest);
    for (const auto& [n, length] : pack->runs) {
      least = std::min(least, length);
      most = std::max(most, length);
    }
  }
  if (lengths.empty()) {
    for (double length = least; length < most; length *= 2) lengths.insert(length);
    lengths.insert(most);
  }
  return {lengths.begin(), lengths.end()};
}

// A run of documents between two fitted lengths.
struct PlacedRun {
  double model_s = 0;
  Eigen::Index low = 0;
  Eigen::Index high = 0;
  double part = 0;
};

PlacedRun placed(const std::vector<double>& lengths, double length, double model_s) {
  const double inside = std::clamp(length, lengths.front(), lengths.back());
  const auto high = std::ranges::lower_bound(lengths, inside) - lengths.begin();
  if (high == 0) return {model_s, 0, 0, 0};
  const auto at = [&](std::ptrdiff_t i) { return lengths[static_cast<std::size_t>(i)]; };
  return {model_s, high - 1, high, std::log(inside / at(high - 1)) / std::log(at(high) / at(high - 1))};
}

}  // namespace

HeadsFit fit_heads(const AttentionPacks& packs, const std::vector<double>& numbers, double model_scale) {
  constexpr double kLeastSpread = 0.1;
  constexpr double kLeastNoise = 0.003;
  HeadsFit fit;
  fit.lengths = lengths_of(packs);
  const auto n = static_cast<Eigen::Index>(packs.size());
  const auto n_lengths = static_cast<Eigen::Index>(fit.lengths.size());
  const double spread = std::max(kLeastSpread, 2 * model_scale);
  const AttentionWork work = attention_work_of(numbers);
  std::vector<std::vector<PlacedRun>> runs;
  for (const AttentionPack* pack : packs) {
    runs.emplace_back();
    for (const auto& [n_documents, length] : pack->runs) {
      const double model_s = n_documents * work.document_s(length, pack->heads, pack->kv_heads);
      runs.back().push_back(placed(fit.lengths, length, model_s));
    }
  }
  const Residuals residuals = [&](const Eigen::VectorXd& x) {
    Eigen::VectorXd r(n + n_lengths);
    for (Eigen::Index i = 0; i < n; ++i) {
      const AttentionPack& pack = *packs[static_cast<std::size_t>(i)];
      double work_s = 0;
      for (const PlacedRun& run : runs[static_cast<std::size_t>(i)])
        work_s += run.model_s * std::exp((1 - run.part) * x[run.low] + run.part * x[run.high]);
      r[i] = std::log(attention_pack_s(numbers[0], numbers[1] * pack.longest, work_s) / pack.fit->time_s);
    }
    r.tail(n_lengths) = x / spread;
    return r;
  };
  // Residuals tell nothing of the noise if there are as many factors as rows; then it is at most the model's.
  RobustOptions options{.n_priors = n_lengths, .least_scale = kLeastNoise, .trust = trust_of(rows_of(packs))};
  if (n < 3 * n_lengths) options.scale = std::max(kLeastNoise, model_scale);
  const RobustFit robust = robust_least_squares(residuals, Eigen::VectorXd::Zero(n_lengths), options);
  fit.log_factors.assign(robust.x.data(), robust.x.data() + robust.x.size());
  for (Eigen::Index i = 0; i < n_lengths; ++i)
    fit.standard_errors.push_back(std::sqrt(std::max(0.0, robust.covariance(i, i))));
  fit.residuals = robust.residuals.head(n);
  fit.weights = robust.weights;
  return fit;
}

}  // namespace packsim
