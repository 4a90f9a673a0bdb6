#pragma once

#include <string_view>

#include "models/transformer.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// Refuses groups of experts that cannot be: that do not divide the experts, or too few for those of a token.
/// The keys are those of n_groups and groups_per_token.
void refuse_groups(JsonReader& reader, const Experts& experts, std::string_view groups_key,
                   std::string_view per_token_key);

}  // namespace packsim
