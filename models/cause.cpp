#include "models/cause.hpp"

namespace packsim {

std::string_view cause_name(Cause cause) {
  constexpr std::array<std::string_view, kNCauses> kNames = {
      "linear",   "attention", "recompute", "sequence", "tensor",  "expert",
      "pipeline", "states",    "optimizer", "host",     "overhead"};
  return kNames.at(static_cast<std::size_t>(cause));
}

}  // namespace packsim
