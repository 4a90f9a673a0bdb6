#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/step/pass/pass_time.hpp"
#include "sim/step/rank_work.hpp"

namespace packsim {

/// What one rank does in a row of layers, cut at the exchanges with the ranks that hold the other experts.
/// Keeps its memory.
class CutWork {
 public:
  void clear();
  /// attention: its price where the segment is attention.
  void add(const PassSegment& segment, const RingPrice* attention, double slow_down);
  /// Adds other work behind this.
  void append(const CutWork& other);

  /// The time of all but the exchanges.
  const WorkTime& time() const { return time_; }
  /// [n_exchanges + 1]: before the first exchange, between each and the next, and after the last.
  const std::vector<std::int64_t>& pieces_ns() const { return pieces_ns_; }
  const std::vector<std::int64_t>& exchanges_ns() const { return exchanges_ns_; }

 private:
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
  const CutWork& cut_part(const PassList& pass, const PassPart& part, double slow_down);

  CutWork work_;
  CutWork edge_;
  // Layers of the pass, by form. All of one form are the same.
  std::array<CutWork, kNLayerForms> layers_;
  std::array<bool, kNLayerForms> has_layer_ = {};
};

}  // namespace packsim
