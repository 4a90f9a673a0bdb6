#pragma once

#include <array>
#include <string_view>

#include "models/parallel_plan.hpp"
#include "packing/policies/policies.hpp"

namespace packsim {

// How files spell the choices of a plan.

inline constexpr std::array<PolicyName<RingLayout>, 2> kRingLayoutNames = {{
    {RingLayout::contiguous, "contiguous", "each GPU has one chunk of a document"},
    {RingLayout::zigzag, "zigzag", "each GPU has two chunks of a document, one from each end"},
}};
inline constexpr std::array<PolicyName<KeyExchange>, 3> kKeyExchangeNames = {{
    {KeyExchange::ring, "ring", "keys and values travel step by step beside attention"},
    {KeyExchange::all_gather, "all_gather", "all keys and values are gathered before attention"},
    {KeyExchange::all_gather_packs, "all_gather_packs",
     "the same, with one chunk of the pack on each GPU, however documents lie in it"},
}};
inline constexpr std::array<PolicyName<ExpertDispatch>, 2> kExpertDispatchNames = {{
    {ExpertDispatch::all_to_all, "all_to_all", "a token is sent once for each of its experts"},
    {ExpertDispatch::deduplicated, "deduplicated",
     "a token is sent once to each GPU or node with any of them"},
}};
/// Checkpointing::modules has no name: files list the modules.
inline constexpr std::array<PolicyName<Checkpointing>, 3> kCheckpointingNames = {{
    {Checkpointing::full, "full", "a layer keeps its input"},
    {Checkpointing::selective, "selective", "a layer keeps all but the inside of attention"},
    {Checkpointing::operations, "operations",
     "a layer keeps its input and the outputs of attention and every second matrix product"},
}};

struct OffloadName {
  bool Offload::*state;
  std::string_view name;
};
inline constexpr std::string_view kNoOffload = "none";
inline constexpr std::array<OffloadName, 4> kOffloadNames = {{
    {&Offload::optimizer, "optimizer"},
    {&Offload::weights, "weights"},
    {&Offload::gradients, "gradients"},
    {&Offload::activations, "activations"},
}};

}  // namespace packsim
