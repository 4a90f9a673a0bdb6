#include "calibration/fit/steps/memory_fit.hpp"

#include <algorithm>

namespace packsim {
namespace {

// The peak of one row with so many checkpointed layers, reserved memory apart: at the loss it grows with the
// work space of the logits, at all other moments it does not.
struct PeakLine {
  double others_bytes = 0;
  double loss_bytes = 0;
  double logits_elements = 0;
  double at(double logits_bytes_per_entry) const {
    return std::max(others_bytes, loss_bytes + logits_elements * logits_bytes_per_entry);
  }
};

struct RowPeaks {
  const StepRow* row = nullptr;
  std::vector<PeakLine> by_gc_layers;
};

PeakLine peak_line(const StepFitProblem& problem, const StepRow& row, int gc_layers) {
  // So much that no other moment is the peak.
  constexpr double kHuge = 1e6;
  ParallelPlan plan = problem.plan_of(row);
  plan.gc_layers = gc_layers;
  const auto peak = [&](double logits_bytes_per_entry) {
    return peak_memory(problem.model, problem.cluster, plan,
                       {.reserved_bytes = 0, .logits_bytes_per_vocab_entry = logits_bytes_per_entry},
                       tokens_per_gpu(row));
  };
  const MemoryPeak at_loss = peak(kHuge);
  return {.others_bytes = peak(0).total_bytes(),
          .loss_bytes = at_loss.total_bytes() - at_loss.logits_bytes,
          .logits_elements = at_loss.logits_bytes / kHuge};
}

// Squared error in checkpointed layers over all rows; a wrong out-of-memory verdict counts as ten layers.
double verdict_error(const std::vector<RowPeaks>& rows, double memory_bytes, double logits_bytes_per_entry) {
  double error = 0;
  for (const RowPeaks& peaks : rows) {
    const auto fits = [&](const PeakLine& line) { return line.at(logits_bytes_per_entry) <= memory_bytes; };
    const auto fewest = std::ranges::find_if(peaks.by_gc_layers, fits);
    const bool is_out = fewest == peaks.by_gc_layers.end();
    if (peaks.row->out_of_memory != is_out) {
      error += 100;
    } else if (!is_out) {
      const auto off = static_cast<double>(fewest - peaks.by_gc_layers.begin() - peaks.row->gc_layers);
      error += off * off;
    }
  }
  return error;
}

}  // namespace

double tokens_per_gpu(const StepRow& row) {
  return static_cast<double>(row.pack_tokens) / row.sequence.ulysses;
}

MemoryAssumptions fit_memory_verdicts(const StepFitProblem& problem) {
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  std::vector<RowPeaks> rows;
  for (const StepRow& row : problem.rows) {
    rows.push_back({.row = &row, .by_gc_layers = {}});
    for (int gc_layers = 0; gc_layers <= problem.model.n_layers; ++gc_layers)
      rows.back().by_gc_layers.push_back(peak_line(problem, row, gc_layers));
  }
  double best = 1e300;
  double reserved_sum = 0;
  double logits_sum = 0;
  int n_best = 0;
  for (int i = 0; i <= 300; ++i) {
    for (int j = 0; j <= 140; ++j) {
      const double reserved_bytes = i * 0.1 * kGibibyte;
      const double logits_bytes = j * 0.1;
      const double error = verdict_error(
          rows, static_cast<double>(problem.cluster.gpu.memory_bytes) - reserved_bytes, logits_bytes);
      if (error > best) continue;
      if (error < best) {
        best = error;
        reserved_sum = logits_sum = 0;
        n_best = 0;
      }
      reserved_sum += reserved_bytes;
      logits_sum += logits_bytes;
      ++n_best;
    }
  }
  return {.reserved_bytes = reserved_sum / n_best, .logits_bytes_per_vocab_entry = logits_sum / n_best};
}

}  // namespace packsim
