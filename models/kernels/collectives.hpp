#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace packsim {

/// How the GPUs of a collective exchange their payload. sim/network/ has a file for each: what it puts on
/// which link.
enum class CollectiveAlgorithm : std::uint8_t {
  direct,  ///< Every GPU sends each other one its part. No two GPUs receive the same.
  ring,    ///< Parts go round rings of all GPUs, and what one GPU receives the next receives as well.
  pair,    ///< The first of two GPUs sends its payload to the second.
};

/// A collective: one row of the table. All that tells one collective from another is here.
struct CollectiveKind {
  std::string_view name;  ///< As kernels, plans of measurements and profiles spell it.
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
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
    {.name = "all_to_all", .algorithm = CollectiveAlgorithm::direct, .gradient = "all_to_all"},
    {.name = "all_gather", .gradient = "reduce_scatter", .half_of = "all_reduce"},
    {.name = "reduce_scatter", .gradient = "all_gather", .half_of = "all_reduce"},
    // A reduce-scatter, and an all-gather of its results. A switch may add up what passes it.
    {.name = "all_reduce", .gradient = "all_reduce", .passes = 2, .receives_whole_payload = true},
    {.name = "send_recv",
     .algorithm = CollectiveAlgorithm::pair,
     .gradient = "send_recv",
     .receives_whole_payload = true},
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
