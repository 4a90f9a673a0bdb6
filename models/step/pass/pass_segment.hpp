#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/cause.hpp"
#include "models/step/price_account.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// What a GPU does next in a pass of a micro-batch, after the segment before it. Times are whole nanoseconds,
/// rounded once, when the segment is made.
struct PassSegment {
  enum class Kind : std::uint8_t {
    compute,    ///< kernels that run one after another; a slow GPU takes longer for them
    attention,  ///< attention over the documents; MicroBatchPrice has its time
    exchange,   ///< the part of a collective that computation does not hide
    host_copy,  ///< the part of a copy to or from the host that computation does not hide
    host,       ///< work of the host that kernels wait for
  };
  Kind kind = Kind::compute;
  Cause cause = Cause::linear;
  std::int64_t time_ns = 0;  ///< 0 for attention
  double n_kernels = 0;      ///< Kernels that the host launches for it.
  /// How often, from the segment's beginning to the end of its phase, the host waits until the GPU has done
  /// all that was launched.
  double n_host_waits = 0;
  std::int64_t most_ahead_ns = 0;  ///< Only for a wait for launches: how far the host can be ahead.
  // Only for an exchange: its group, and what it sends.
  std::string_view op = {};
  int gpus = 1;
  int stride = 1;  ///< distance from one GPU of the group to the next
  std::int64_t bytes = 0;
  bool operator==(const PassSegment&) const = default;
};

using NsByCause = std::array<std::int64_t, kNCauses>;

/// Segments that run one after another. The sums do not include attention.
struct PricedPhase {
  std::vector<PassSegment> segments;
  NsByCause by_cause_ns = {};
  std::int64_t total_ns = 0;
  double n_kernels = 0;  ///< kernels that the host launches, those of attention included
  bool has_host_waits = false;
  std::optional<Cause> attention = {};  ///< the cause of its attention, if it has any

  /// Adds a segment behind the others. Computation of one cause is one segment.
  void add(const PassSegment& segment) {
    by_cause_ns[static_cast<std::size_t>(segment.cause)] += segment.time_ns;
    total_ns += segment.time_ns;
    n_kernels += segment.n_kernels;
    if (segment.kind == PassSegment::Kind::attention) attention = segment.cause;
    const bool joins_last = segment.kind == PassSegment::Kind::compute && segment.n_host_waits == 0 &&
                            !segments.empty() && segments.back().kind == segment.kind &&
                            segments.back().cause == segment.cause;
    has_host_waits = has_host_waits || segment.n_host_waits > 0;
    if (joins_last) {
      segments.back().time_ns += segment.time_ns;
      segments.back().n_kernels += segment.n_kernels;
    } else {
      segments.push_back(segment);
    }
  }
};

/// What a layer does in one go. The backward pass of a checkpointed layer starts with its recomputation.
enum class LayerPhase : std::uint8_t { forward, recompute, backward };

/// Layers of one form do the same in a pass.
struct LayerForm {
  LayerKind kind = LayerKind::dense;
  bool is_checkpointed = false;
  std::size_t index() const { return 2 * static_cast<std::size_t>(kind) + (is_checkpointed ? 1 : 0); }
  bool operator==(const LayerForm&) const = default;
};
inline constexpr std::size_t kNLayerForms = 4;

/// A segment behind a phase of every layer of a kind, which depends on more than the number of tokens. Adding
/// one to a MicroBatchPrice is all that a new kind of wait or exchange in a pass takes: times, steps, spreads
/// and accounts go through the list of the pass (pass_list.hpp).
struct AddedSegment {
  LayerKind layer = LayerKind::dense;
  LayerPhase behind = LayerPhase::forward;
  bool of_checkpointed = false;  ///< only of layers that are checkpointed
  PassSegment segment;
  const CurveName* curve = nullptr;  ///< what its time rests on; lives as long as the program
  TimeEstimate estimate = {};        ///< of the whole of which the segment is a part, hidden or not

  bool is_of(const LayerForm& form) const {
    const bool checkpointed = of_checkpointed || behind == LayerPhase::recompute;
    return form.kind == layer && (form.is_checkpointed || !checkpointed);
  }
  bool operator==(const AddedSegment&) const = default;
};

}  // namespace packsim
