#pragma once

#include <span>
#include <string>
#include <string_view>

namespace packsim {

/// "did you mean nodes?" where a known name is at most 2 edits (a swap of neighbours is one) and a third of
/// the length of `got` away, else "known: nodes, type".
std::string suggest(std::string_view got, std::span<const std::string> known);

/// "a, b, c".
std::string join(std::span<const std::string> names);

}  // namespace packsim
