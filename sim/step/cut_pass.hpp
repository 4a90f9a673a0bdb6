#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/step/micro_batch_time.hpp"
#include "sim/step/rank_work.hpp"

namespace packsim {

/// What one rank does in a row of layers, cut at the exchanges with the ranks that hold the other experts.
/// Keeps its memory.
class CutWork {
 public:
  void clear();
  void compute(Cause cause, std::int64_t time_ns);
  /// Adds a phase of a layer. attention: its attention. with_experts: whether the rank exchanges with others
  /// there; else exchanges of experts stay inside the rank.
  void add(const PricedPhase& phase, const RingPrice& attention, bool with_experts, double slow_down);
  /// Adds other work behind this.
  void append(const CutWork& other);

  /// Without the exchanges.
  const WorkTime& time() const { return time_; }
  /// [n_exchanges + 1]: before the first exchange, between each and the next, and after the last.
  const std::vector<std::int64_t>& pieces_ns() const { return pieces_ns_; }
  const std::vector<std::int64_t>& exchanges_ns() const { return exchanges_ns_; }

 private:
  void book(const WorkTime& time);

  WorkTime time_;
  std::vector<std::int64_t> pieces_ns_ = {0};
  std::vector<std::int64_t> exchanges_ns_;
};

/// Cuts passes of micro-batches through chunks. Keeps its memory.
class PassCutter {
 public:
  /// What a rank does in some units of a pass that lie side by side: layers, embedding and head, and the sums
  /// of gradients of a micro-batch that is not the step's first. Valid until the next call.
  const CutWork& cut(const RankWork& rank, std::size_t chunk, std::size_t micro_batch, bool is_forward,
                     std::span<const StateUnit> units);

 private:
  void add_forward(const StateUnit& unit);
  void add_backward(const StateUnit& unit);
  const CutWork& layer(int index);

  const MicroBatchPrice* price_ = nullptr;
  ChunkShape chunk_;
  bool is_forward_ = true;
  bool is_first_ = true;  // micro-batch of the step
  double slow_down_ = 1;
  CutWork work_;
  // Layers of the pass, by whether they have experts and are checkpointed. All of one kind are the same.
  std::array<CutWork, 4> layers_;
  std::array<bool, 4> has_layer_ = {};
};

}  // namespace packsim
