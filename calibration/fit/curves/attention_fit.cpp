#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/fit/curves/attention_packs.hpp"
#include "calibration/fit/curves/curve_fit.hpp"
#include "calibration/fit/curves/family_fits.hpp"
#include "calibration/fit/robust_least_squares.hpp"
#include "models/kernels/kernel_times.hpp"

namespace packsim {
namespace {

// Rows of one pass and head_dim.
class AttentionFit {
 public:
  AttentionFit(std::string key, std::vector<AttentionPack> packs) : packs_(std::move(packs)) {
    model_.key = std::move(key);
    start_ =
        attention_start_of(std::string(key_value(model_.key, "pass")), key_number(model_.key, "head_dim"));
    std::set<double> ratios;
    for (const AttentionPack& pack : packs_) {
      by_heads_[pack.curve_key].push_back(&pack);
      all_.push_back(&pack);
      ratios.insert(pack.heads / pack.kv_heads);
      single_documents_ = single_documents_ && pack.runs.size() == 1 && pack.runs[0].first == 1;
    }
    // Rows of one ratio of heads do not tell keys and values from queries.
    if (ratios.size() == 1) start_[5] = 0;
    // Packs of one document do not tell what each document adds from what each launch adds, nor what the
    // longest takes by itself from what its tokens take.
    if (single_documents_) start_[4] = start_[1] = 0;
  }

  void run(HardwareProfile& profile, std::vector<std::string>& notes) {
    const PositiveFit fit = fit_attention_numbers(all_, start_);
    numbers_ = fit.values;
    scale_ = fit.scale;
    const FitRows rows = rows_of(all_);
    set_fitted(rows, fit.residuals, fit.weights);
    model_.library = rows.front()->row->library;
    model_.numbers = named_numbers(kAttentionNumbers, fit);
    model_.box = box();
    model_.sources = sources_of(rows);
    model_.quality = quality_of(rows);
    model_.end_error = try_longer();
    add_curves();
    leave_lengths_out();
    choose_neighbours();
    if (single_documents_)
      notes.push_back(model_.key +
                      ": packs of one document alone were measured; what a document adds beside "
                      "its tokens is not known");
    for (KernelCurve& curve : curves_) add_sorted(profile, std::move(curve));
    add_sorted(profile, std::move(model_));
  }

 private:
  std::vector<KeyRange> box() const {
    std::vector<double> lengths;
    std::vector<double> heads;
    std::vector<double> ratios;
    for (const AttentionPack& pack : packs_) {
      for (const auto& [n, length] : pack.runs) lengths.push_back(length);
      heads.push_back(pack.heads);
      ratios.push_back(pack.heads / pack.kv_heads);
    }
    return {range_of("length_tokens", lengths), range_of("heads", heads),
            range_of("heads_per_kv_head", ratios)};
  }

  std::size_t n_active() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(numbers_, [](double number) { return number > 0; }));
  }

  // Fitted to packs whose longest document is under a quarter of the longest, tried on the others.
  double try_longer() const {
    constexpr double kUntried = 0.1;
    double longest = 0;
    for (const AttentionPack& pack : packs_) longest = std::max(longest, pack.longest);
    AttentionPacks shorter;
    AttentionPacks longer;
    for (const AttentionPack& pack : packs_)
      (pack.longest <= longest / 4 ? shorter : longer).push_back(&pack);
    if (shorter.size() < 2 * numbers_.size()) return kUntried;
    const std::vector<double> numbers = fit_attention_numbers(shorter, numbers_).values;
    HeadsFit plain{.lengths = {1.0}, .log_factors = {0.0}};
    std::vector<double> squares;
    for (const AttentionPack* pack : longer) {
      const double error = std::log(pack_time_s(*pack, numbers, plain) / pack->fit->time_s);
      squares.push_back(std::pow(error / std::log(4 * pack->longest / longest), 2));
    }
    std::ranges::sort(squares);
    squares.resize((squares.size() + 1) / 2);
    return std::max(0.02, root_mean(squares));
  }

  void add_curves() {
    const AttentionWork work = attention_work_of(numbers_);
    for (const auto& [key, packs] : by_heads_) {
      const HeadsFit fit = fit_heads(packs, numbers_, scale_);
      const FitRows rows = rows_of(packs);
      set_fitted(rows, fit.residuals, fit.weights);
      std::map<double, std::int64_t> n_rows;
      for (const AttentionPack* pack : packs) {
        for (const auto& [n, length] : pack->runs) ++n_rows[length];
      }
      KernelCurve curve{.key = key, .library = rows.front()->row->library, .size_name = "length_tokens"};
      std::vector<double> logs;
      for (std::size_t i = 0; i < fit.lengths.size(); ++i) {
        const double model_s = work.document_s(fit.lengths[i], packs.front()->heads, packs.front()->kv_heads);
        logs.push_back(std::log(model_s) + fit.log_factors[i]);
      }
      std::vector<double> weights;
      for (const double error : fit.standard_errors) weights.push_back(1 / std::max(1e-6, error * error));
      const std::vector<double> rising = never_falling(logs, weights);
      for (std::size_t i = 0; i < rising.size(); ++i) {
        curve.points.push_back({.size = fit.lengths[i],
                                .time_s = std::exp(rising[i]),
                                .relative_error = together(fit.standard_errors[i], rising[i] - logs[i]),
                                .n_rows = n_rows[fit.lengths[i]]});
      }
      curve.quality = quality_of(rows);
      curve.sources = sources_of(rows);
      curve.end_error = model_.end_error;
      curves_.push_back(std::move(curve));
    }
  }

  // Each length left out of everything, then every row with documents of it predicted.
  void leave_lengths_out() {
    std::set<double> lengths;
    for (const AttentionPack& pack : packs_) {
      if (pack.runs.size() == 1) lengths.insert(pack.longest);
    }
    std::map<std::string, std::vector<double>> squares;
    for (const double length : lengths) {
      AttentionPacks others;
      for (const AttentionPack& pack : packs_) {
        if (!pack.has_length(length)) others.push_back(&pack);
      }
      if (others.size() <= n_active()) continue;
      const PositiveFit model = fit_attention_numbers(others, numbers_);
      for (const auto& [key, packs] : by_heads_) {
        AttentionPacks kept;
        for (const AttentionPack* pack : packs) {
          if (!pack->has_length(length)) kept.push_back(pack);
        }
        if (kept.empty()) continue;
        const HeadsFit fit = fit_heads(kept, model.values, model.scale);
        if (length < fit.lengths.front() || length > fit.lengths.back()) continue;
        for (const AttentionPack* pack : packs) {
          if (is_outlier(*pack->fit) || pack->runs.size() > 1 || pack->longest != length) continue;
          squares[key].push_back(
              std::pow(std::log(pack_time_s(*pack, model.values, fit) / pack->fit->time_s), 2));
        }
      }
    }
    for (KernelCurve& curve : curves_) {
      curve.quality.left_out_rms = root_mean(squares[curve.key]);
      // About as many factors as rows leave no residuals; what leaving out shows bounds the noise, as in
      // curve_fit.cpp.
      if (curve.quality.n_rows >= 3 * static_cast<std::int64_t>(curve.points.size())) continue;
      for (CurvePoint& point : curve.points)
        point.relative_error = std::max(point.relative_error, curve.quality.left_out_rms / std::sqrt(1.5));
    }
  }

  // Head shapes left out one after another.
  void choose_neighbours() {
    HardwareProfile profile;
    profile.curves = curves_;
    constexpr double kNNeighbours = 4;
    std::vector<double> alone_squares;
    std::vector<double> corrected_squares;
    for (const auto& [left_out, packs] : by_heads_) {
      AttentionPacks others;
      for (const AttentionPack& pack : packs_) {
        if (pack.curve_key != left_out) others.push_back(&pack);
      }
      if (others.size() <= n_active()) continue;
      KernelModel alone = model_;
      alone.numbers = named_numbers(kAttentionNumbers, fit_attention_numbers(others, numbers_));
      KernelModel corrected = alone;
      alone.numbers.push_back({"n_neighbours", 0, 0});
      corrected.numbers.push_back({"n_neighbours", kNNeighbours, 0});
      for (const AttentionPack* pack : packs) {
        if (is_outlier(*pack->fit)) continue;
        const KernelCase& kernel = pack->fit->row->kernel;
        const auto square = [&](const KernelModel& model) {
          return std::pow(std::log(attention_heads_time(profile, model, kernel).time_s / pack->fit->time_s),
                          2);
        };
        alone_squares.push_back(square(alone));
        corrected_squares.push_back(square(corrected));
      }
    }
    const bool is_better = root_mean(corrected_squares) < root_mean(alone_squares);
    model_.numbers.push_back({"n_neighbours", is_better ? kNNeighbours : 0, 0});
    model_.quality.left_out_rms = root_mean(is_better ? corrected_squares : alone_squares);
  }

  std::vector<AttentionPack> packs_;
  AttentionPacks all_;
  std::map<std::string, AttentionPacks> by_heads_;
  bool single_documents_ = true;
  std::vector<double> start_;
  std::vector<double> numbers_;
  double scale_ = 0;
  KernelModel model_;
  std::vector<KernelCurve> curves_;
};

}  // namespace

void fit_attention(const FitRows& rows, HardwareProfile& profile, std::vector<std::string>& notes) {
  std::map<std::string, std::vector<AttentionPack>> by_model;
  for (FitRow* row : rows)
    by_model[row->row->kernel.text_without({"docs", "heads", "kv_heads"})].push_back(attention_pack_of(*row));
  constexpr std::size_t kFewestRows = 5;
  for (auto& [key, packs] : by_model) {
    if (packs.size() < kFewestRows) {
      notes.push_back(key + ": " + std::to_string(packs.size()) + " rows are too few for a fit; expected " +
                      std::to_string(kFewestRows) + " or more");
      continue;
    }
    AttentionFit(key, std::move(packs)).run(profile, notes);
  }
}

}  // namespace packsim
