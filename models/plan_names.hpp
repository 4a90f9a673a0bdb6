#pragma once

#include <array>

#include "models/parallel_plan.hpp"
#include "packing/policies.hpp"

namespace packsim {

// How files spell the choices of a plan.

inline constexpr std::array<PolicyName<RingLayout>, 2> kRingLayoutNames = {{
    {RingLayout::contiguous, "contiguous", "each GPU has one chunk of a document"},
    {RingLayout::zigzag, "zigzag", "each GPU has two chunks of a document, one from each end"},
}};
inline constexpr std::array<PolicyName<Checkpointing>, 2> kCheckpointingNames = {{
    {Checkpointing::full, "full", "a layer keeps its input"},
    {Checkpointing::selective, "selective", "a layer keeps all but the inside of attention"},
}};
inline constexpr std::array<PolicyName<Offload>, 2> kOffloadNames = {{
    {Offload::none, "none", "everything stays on the GPU"},
    {Offload::optimizer, "optimizer", "optimizer states live in host memory"},
}};

}  // namespace packsim
