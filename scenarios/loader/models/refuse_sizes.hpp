#pragma once

#include <string_view>

#include "models/transformer.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// Reports sizes of a model that are too large together: bytes of its tensors and counts of its parameters
/// would leave 64 bits. heads_key: of the heads, in the file.
void refuse_sizes(JsonReader& reader, const Transformer& model, std::string_view heads_key);

}  // namespace packsim
