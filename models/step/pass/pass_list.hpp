#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "models/step/pass/host_wait.hpp"
#include "models/step/step_price.hpp"

namespace packsim {

/// A part of a pass. The framework's overhead comes before a chunk, in the forward pass.
struct PassPart {
  enum class Kind : std::uint8_t { overhead, embedding, layers, head };
  Kind kind = Kind::layers;
  LayerForm layer = {};  ///< of layers
  int times = 1;         ///< how many equal layers follow each other
};

/// The place of a part in HostWait::part_wait_ns; not for the overhead.
inline std::size_t place_of(const PassPart& part, bool is_forward) {
  const std::size_t in_pass = part.kind == PassPart::Kind::layers ? part.layer.index()
                              : part.kind == PassPart::Kind::head ? kNLayerForms
                                                                  : kNLayerForms + 1;
  return in_pass + (is_forward ? 0 : kNHostPlaces / 2);
}

/// Where a segment is.
struct SegmentPlace {
  LayerPhase phase = LayerPhase::forward;
  const RingPrice* attention = nullptr;  ///< the price of attention in this phase
  std::size_t index = 0;                 ///< among the segments of the phase
};

/// The list of what one GPU does in a pass of a micro-batch through a chunk: its parts in order, and the
/// segments of each part in order. All that is known of a pass is read from this list: how long it takes,
/// where it waits for other GPUs, how its times spread, what its prices rest on, and its operations.
class PassList {
 public:
  /// The price is kept by reference. beside: host_wait() of price and chunk, where it is known; else null.
  PassList(const MicroBatchPrice& price, const ChunkShape& chunk, bool is_forward,
           const HostWait* beside = nullptr)
      : price_(price),
        chunk_(chunk),
        is_forward_(is_forward),
        tells_checkpointed_(!is_forward || std::ranges::any_of(price.added, &AddedSegment::of_checkpointed)) {
    if (beside != nullptr) host_ = *beside;
  }

  bool is_forward() const { return is_forward_; }
  /// Calls visit(const PassPart&) for all parts.
  template <typename Visit>
  void for_each_part(Visit visit) const {
    if (is_forward_) visit(PassPart{.kind = PassPart::Kind::overhead});
    for_each_part(
        {.n_layers = chunk_.n_layers(), .has_embedding = chunk_.has_embedding, .has_head = chunk_.has_head},
        visit);
  }
  /// Calls visit(const PassPart&) for the parts that belong to a unit of the chunk's weights.
  template <typename Visit>
  void for_each_part(const StateUnit& unit, Visit visit) const;

  /// Calls visit(const PricedPhase&, const SegmentPlace&) for each phase of a part, of one of its layers. The
  /// overhead has none.
  template <typename Visit>
  void for_each_phase(const PassPart& part, Visit visit) const;
  /// Calls visit(const PassSegment&) for the segments behind a phase of a part.
  template <typename Visit>
  void for_each_added(const PassPart& part, LayerPhase phase, Visit visit) const {
    if (part.kind != PassPart::Kind::layers) return;
    for (const AddedSegment& added : price_.added) {
      if (added.behind == phase && added.is_of(part.layer)) visit(added.segment);
    }
  }
  PassSegment overhead() const {
    return {.kind = PassSegment::Kind::host, .cause = Cause::overhead, .time_ns = price_.overhead_ns};
  }
  /// What the GPU waits for launches of a part, of one of its layers. Before the overhead there is what
  /// rounding leaves of the others.
  PassSegment waits_for_host(const PassPart& part) const {
    PassSegment wait{.kind = PassSegment::Kind::host, .cause = Cause::host};
    if (price_.host.launch_s <= 0) return wait;
    wait.time_ns = part.kind == PassPart::Kind::overhead ? host().unplaced_ns
                                                         : host().part_wait_ns[place_of(part, is_forward_)];
    wait.most_ahead_ns = host().most_ahead_ns;
    return wait;
  }
  /// How the micro-batch runs beside its host.
  const HostWait& host() const {
    if (!host_) host_ = host_wait(price_, chunk_);
    return *host_;
  }
  /// Calls visit(const PassSegment&, const SegmentPlace&) for all segments of a part, of one of its layers.
  template <typename Visit>
  void for_each_segment(const PassPart& part, Visit visit) const {
    if (part.kind == PassPart::Kind::overhead) visit(overhead(), SegmentPlace{});
    visit(waits_for_host(part), SegmentPlace{});
    for_each_phase(part, [&](const PricedPhase& phase, SegmentPlace place) {
      for (; place.index < phase.segments.size(); ++place.index) visit(phase.segments[place.index], place);
      for_each_added(part, place.phase, [&](const PassSegment& segment) { visit(segment, place); });
    });
  }

 private:
  LayerForm form_of(int layer) const {
    return {.kind = layer >= chunk_.n_dense ? LayerKind::expert : LayerKind::dense,
            .is_checkpointed = tells_checkpointed_ && layer < chunk_.n_checkpointed};
  }
  // The phases of a layer, in the order of the pass.
  std::span<const LayerPhase> phases_of(const LayerForm& form) const {
    static constexpr std::array kPhases = {LayerPhase::forward, LayerPhase::recompute, LayerPhase::backward};
    if (is_forward_) return std::span(kPhases).first(1);
    return std::span(kPhases).last(form.is_checkpointed ? 2 : 1);
  }
  template <typename Visit>
  void for_each_run(int first, int n, Visit visit) const;

  const MicroBatchPrice& price_;
  ChunkShape chunk_;
  bool is_forward_;
  mutable std::optional<HostWait> host_;  // found where it is asked for
  bool tells_checkpointed_;               // whether checkpointed layers do something else than others
};

// Runs of equal layers, backward from the last one to the first.
template <typename Visit>
void PassList::for_each_run(int first, int n, Visit visit) const {
  const int end = first + n;
  std::array<int, 4> bounds = {first, std::clamp(chunk_.n_dense, first, end),
                               std::clamp(chunk_.n_checkpointed, first, end), end};
  if (!tells_checkpointed_) bounds[2] = end;
  if (bounds[1] > bounds[2]) std::swap(bounds[1], bounds[2]);
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(is_forward_ ? i : 2 - i);
    const int times = bounds[at + 1] - bounds[at];
    if (times > 0) visit(PassPart{.layer = form_of(bounds[at]), .times = times});
  }
}

template <typename Visit>
void PassList::for_each_part(const StateUnit& unit, Visit visit) const {
  using Kind = PassPart::Kind;
  const bool starts_with = is_forward_ ? unit.has_embedding : unit.has_head;
  const bool ends_with = is_forward_ ? unit.has_head : unit.has_embedding;
  if (starts_with) visit(PassPart{.kind = is_forward_ ? Kind::embedding : Kind::head});
  for_each_run(unit.first_layer, unit.n_layers, visit);
  if (ends_with) visit(PassPart{.kind = is_forward_ ? Kind::head : Kind::embedding});
}

template <typename Visit>
void PassList::for_each_phase(const PassPart& part, Visit visit) const {
  const TokenPrices& tokens = *price_.tokens;
  const auto place = [&](LayerPhase phase) {
    return SegmentPlace{
        .phase = phase,
        .attention = phase == LayerPhase::backward ? &price_.attention_backward : &price_.attention_forward};
  };
  const LayerPhase edge = is_forward_ ? LayerPhase::forward : LayerPhase::backward;
  switch (part.kind) {
    case PassPart::Kind::overhead:
      break;
    case PassPart::Kind::embedding:
      visit(is_forward_ ? tokens.embedding_forward : tokens.embedding_backward, place(edge));
      break;
    case PassPart::Kind::head:
      visit(is_forward_ ? tokens.head_forward : tokens.head_backward, place(edge));
      break;
    case PassPart::Kind::layers:
      for (const LayerPhase phase : phases_of(part.layer))
        visit(tokens.layers[static_cast<std::size_t>(part.layer.kind)].of(phase), place(phase));
      break;
  }
}

}  // namespace packsim
