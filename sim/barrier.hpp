#pragma once

namespace packsim {

/// Where the ranks of an iteration wait for each other. Gradients exchanged once a step (ZeRO 0 and 1) need
/// one barrier; gradients scattered (ZeRO 2) or weights gathered (ZeRO 3) in every micro-batch hold the ranks
/// together at each of them.
enum class Barrier { iteration, micro_batch };

}  // namespace packsim
