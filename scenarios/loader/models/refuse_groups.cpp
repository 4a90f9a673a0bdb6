#include "scenarios/loader/models/refuse_groups.hpp"

#include <fmt/format.h>

namespace packsim {

void refuse_groups(JsonReader& reader, const Experts& experts, std::string_view groups_key,
                   std::string_view per_token_key) {
  if (experts.n_routed % experts.n_groups != 0) {
    reader.refuse(groups_key, fmt::format("a divisor of the {} routed experts", experts.n_routed));
  } else if (experts.groups_per_token > experts.n_groups) {
    reader.refuse(per_token_key, fmt::format("at most the {} groups", experts.n_groups));
  } else if (experts.per_token > experts.groups_per_token * (experts.n_routed / experts.n_groups)) {
    reader.refuse(per_token_key, fmt::format("enough groups of {} for the {} experts of a token",
                                             experts.n_routed / experts.n_groups, experts.per_token));
  }
}

}  // namespace packsim
