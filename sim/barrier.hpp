#pragma once

namespace packsim {

/// Where the ranks of an iteration wait for each other. Gradients exchanged once a step (ZeRO 0 to 2) need
/// one barrier; weights gathered in every micro-batch (ZeRO 3) hold the ranks together at each of them.
enum class Barrier { iteration, micro_batch };

}  // namespace packsim
