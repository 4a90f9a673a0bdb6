#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "packing/strategy.hpp"

namespace packsim {

/// One member of StrategyOptions as files and other languages name it, and the values that it may have.
struct OptionRow {
  using Member = std::variant<bool StrategyOptions::*, int StrategyOptions::*,
                              std::uint32_t StrategyOptions::*, std::int64_t StrategyOptions::*,
                              double StrategyOptions::*, std::string_view StrategyOptions::*>;

  std::string_view name;
  Member member;
  std::int64_t low = 0;  ///< of integers
  std::int64_t high = 0;
  /// Of words, what they may be; the text lives as long as the program.
  std::vector<std::string_view> (*words)() = nullptr;
};

/// Every option, in the order in which mistakes are named. Those of type double are seconds, over 0 where
/// they are given.
std::span<const OptionRow> option_rows();

}  // namespace packsim
