#include "planning/bound/pipeline_chain.hpp"

#include <algorithm>
#include <cstddef>

#include "models/pipeline/passes_in_order.hpp"

namespace packsim {
namespace {

// How often paths pass through the micro-batches. Passes through a chunk count by its share.
struct PathCounts {
  explicit PathCounts(std::size_t n_micro_batches) : forward(n_micro_batches), backward(n_micro_batches) {}

  void add(const PathCounts& other, double weight) {
    for (std::size_t i = 0; i < forward.size(); ++i) {
      forward[i] += weight * other.forward[i];
      backward[i] += weight * other.backward[i];
    }
    n_forwards += weight * other.n_forwards;
    n_later_backwards += weight * other.n_later_backwards;
  }
  // Time of a micro-batch for a unit of its work.
  double time(std::size_t micro_batch, const PassTimes& unit) const {
    return forward[micro_batch] * unit.forward + backward[micro_batch] * unit.backward;
  }

  std::vector<double> forward;  // [n_micro_batches]
  std::vector<double> backward;
  double n_forwards = 0;
  double n_later_backwards = 0;
};

class PipelineGame {
 public:
  PipelineGame(const PipelineSchedule& schedule, const PipelineShape& shape, const PassShares& shares)
      : shares_(shares),
        n_(static_cast<std::size_t>(shape.n_micro_batches)),
        passes_(passes_in_order(schedule, shape)),
        regrets_(n_ * shares.units.size(), 1.0),
        ends_(passes_.size()),
        comes_from_(passes_.size()),
        path_(n_),
        sum_(n_) {}

  PipelineChain play() {
    constexpr int kRounds = 2000;
    PipelineChain best{.work = 0};
    double weights = 0;
    for (int round = 1; round <= kRounds; ++round) {
      choose_sizes();
      find_longest_path();
      sum_.add(path_, round);
      weights += round;
      if (round % 50 == 0) keep_better(weights, best);
      learn();
    }
    return best;
  }

 private:
  std::size_t micro_batch_of(std::size_t choice) const { return choice / shares_.units.size(); }
  const PassTimes& unit_of(std::size_t choice) const { return shares_.units[choice % shares_.units.size()]; }

  // Micro-batches have the more work, the less time they took on earlier paths.
  void choose_sizes() {
    double sum = 0;
    for (const double regret : regrets_) sum += regret;
    forward_.assign(n_, 0);
    backward_.assign(n_, 0);
    for (std::size_t i = 0; i < regrets_.size(); ++i) {
      const double work = sum > 0 ? regrets_[i] / sum : 1.0 / static_cast<double>(regrets_.size());
      forward_[micro_batch_of(i)] += work * unit_of(i).forward;
      backward_[micro_batch_of(i)] += work * unit_of(i).backward;
    }
  }

  void find_longest_path() {
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      const OrderedPass& pass = passes_[i];
      double start = 0;
      comes_from_[i] = OrderedPass::kNone;
      for (const std::size_t before : {pass.before, pass.input}) {
        if (before == OrderedPass::kNone || ends_[before] < start) continue;
        start = ends_[before];
        comes_from_[i] = before;
      }
      const double time = (pass.is_forward ? forward_ : backward_)[pass.micro_batch];
      ends_[i] = start + shares_.chunks[pass.chunk] * time;
    }
    path_ = PathCounts(n_);
    for (std::size_t i = passes_.size() - 1; i != OrderedPass::kNone; i = comes_from_[i]) {
      const OrderedPass& pass = passes_[i];
      (pass.is_forward ? path_.forward : path_.backward)[pass.micro_batch] += shares_.chunks[pass.chunk];
      if (pass.is_forward) path_.n_forwards += 1;
      if (!pass.is_forward && pass.micro_batch > 0) path_.n_later_backwards += 1;
    }
  }

  void learn() {
    double mean = 0;
    for (std::size_t i = 0; i < n_; ++i)
      mean += path_.forward[i] * forward_[i] + path_.backward[i] * backward_[i];
    for (std::size_t i = 0; i < regrets_.size(); ++i)
      regrets_[i] = std::max(0.0, regrets_[i] + mean - path_.time(micro_batch_of(i), unit_of(i)));
  }

  void keep_better(double weights, PipelineChain& best) const {
    double least = sum_.time(0, unit_of(0));
    for (std::size_t i = 0; i < regrets_.size(); ++i)
      least = std::min(least, sum_.time(micro_batch_of(i), unit_of(i)));
    if (least / weights <= best.work) return;
    best = {.work = least / weights,
            .n_forwards = sum_.n_forwards / weights,
            .n_later_backwards = sum_.n_later_backwards / weights};
  }

  const PassShares& shares_;
  std::size_t n_;
  std::vector<OrderedPass> passes_;
  std::vector<double> regrets_;  // [n_micro_batches x n_units]
  std::vector<double> forward_;  // [n_micro_batches] time through the reference
  std::vector<double> backward_;
  std::vector<double> ends_;  // [n_passes]
  std::vector<std::size_t> comes_from_;
  PathCounts path_;
  PathCounts sum_;
};

}  // namespace

PipelineChain pipeline_chain(const PipelineSchedule& schedule, const PipelineShape& shape,
                             const PassShares& shares) {
  return PipelineGame(schedule, shape, shares).play();
}

}  // namespace packsim
