#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace packsim {

/// What a GPU spends its time on.
enum class Cause : std::uint8_t {
  linear,     ///< matrix products and elementwise kernels, forward and backward
  attention,  ///< attention kernels, forward and backward
  recompute,  ///< the second forward pass of checkpointed layers
  sequence,   ///< communication of Ulysses or ring attention, and the copies that reorder its data
  tensor,     ///< communication of tensor parallelism
  expert,     ///< communication of expert parallelism
  pipeline,   ///< transfers of activations and their gradients between pipeline stages
  states,     ///< transfers of gradients and weights between data-parallel ranks; with offload, copies for
              ///< passes
  optimizer,  ///< AdamW, and with offload its copies to and from the host
  host,       ///< waiting for the host to launch kernels
  overhead,   ///< fixed costs of the framework
};
inline constexpr int kNCauses = 11;
std::string_view cause_name(Cause cause);

/// The causes that are exchange between GPUs or with the host.
inline constexpr std::array kExchangeCauses = {Cause::sequence, Cause::tensor, Cause::expert, Cause::pipeline,
                                               Cause::states};

class CauseSet {
 public:
  bool has(Cause cause) const { return causes_[static_cast<std::size_t>(cause)]; }
  bool any() const { return causes_.any(); }
  void add(Cause cause) { causes_.set(static_cast<std::size_t>(cause)); }

 private:
  std::bitset<kNCauses> causes_;
};

}  // namespace packsim
