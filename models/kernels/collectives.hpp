#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace packsim {

/// How the GPUs of a collective exchange their payload. Prices read these columns; what an algorithm puts on
/// which link is a row of sim/network/collective_algorithms.cpp.
struct CollectiveAlgorithm {
  std::string_view name;
  /// What one GPU receives the next receives as well. So bytes enter a node once for all of its GPUs, and the
  /// first bytes arrive after a hop for each GPU.
  bool passes_on = false;
  bool sends_each_its_part = false;  ///< Every GPU sends each other one a part that no other GPU receives.
  bool sends_whole_payload = false;  ///< A GPU sends all of the payload; else it keeps its own part.
  int most_gpus = std::numeric_limits<int>::max();  ///< More GPUs cannot take part.
};

inline constexpr CollectiveAlgorithm kDirect = {.name = "direct", .sends_each_its_part = true};
/// Parts go round rings of all GPUs.
inline constexpr CollectiveAlgorithm kRing = {.name = "ring", .passes_on = true};
/// The first of two GPUs sends its payload to the second.
inline constexpr CollectiveAlgorithm kPair = {.name = "pair", .sends_whole_payload = true, .most_gpus = 2};

/// A collective: one row of the table. All that tells one collective from another is here.
struct CollectiveKind {
  std::string_view name;  ///< Its spelling in kernels, measurement lists and profiles.
  CollectiveAlgorithm algorithm = kRing;
  std::string_view gradient;  ///< The collective that carries the gradients of what this one carries.
  /// Times that the payload, less the GPU's own part, leaves a GPU.
  int passes = 1;
  /// However it is done, each part of the GPUs receives as many bytes as the whole payload from the others.
  /// Else it receives the share of the others.
  bool receives_whole_payload = false;
  /// The collective that two of this one amount to; empty where there is none.
  std::string_view half_of = {};
};

/// The payload is what nccl-tests counts (kernel_bytes()).
inline constexpr std::array<CollectiveKind, 5> kCollectiveKinds = {{
    {.name = "all_to_all", .algorithm = kDirect, .gradient = "all_to_all"},
    {.name = "all_gather", .gradient = "reduce_scatter", .half_of = "all_reduce"},
    {.name = "reduce_scatter", .gradient = "all_gather", .half_of = "all_reduce"},
    // A reduce-scatter, and an all-gather of its results. A switch may add up what passes it.
    {.name = "all_reduce", .gradient = "all_reduce", .passes = 2, .receives_whole_payload = true},
    {.name = "send_recv", .algorithm = kPair, .gradient = "send_recv", .receives_whole_payload = true},
}};

/// The row of a collective. Throws std::invalid_argument, with the names that there are, for any other name.
inline const CollectiveKind& collective_kind(std::string_view name) {
  for (const CollectiveKind& kind : kCollectiveKinds) {
    if (kind.name == name) return kind;
  }
  std::string names;
  for (std::size_t i = 0; i < kCollectiveKinds.size(); ++i) {
    names += i == 0 ? "" : i + 1 == kCollectiveKinds.size() ? " or " : ", ";
    names += kCollectiveKinds[i].name;
  }
  throw std::invalid_argument("collective " + std::string(name) + ", expected " + names);
}

}  // namespace packsim
