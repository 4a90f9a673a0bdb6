#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "experiment/report.hpp"

namespace packsim::formats_detail {

/// A single value of a run under the name that every machine-readable format gives it.
struct RunField {
  std::string_view key;
  std::variant<std::string StrategyResult::*, std::int64_t StrategyResult::*, double StrategyResult::*,
               bool StrategyResult::*>
      member;
};

/// All of them in the order in which files show them. Times that this machine measured are not among them.
std::span<const RunField> run_fields();

}  // namespace packsim::formats_detail
