#pragma once

#include <string>
#include <string_view>

namespace packsim {

/// Hours of a duration as people write it: "12h", "2d", "90m", "1d 12h", "2 weeks", or a number of hours.
/// Throws std::invalid_argument, with `option` in front, for anything else and for what is not above 0.
double hours_of(std::string_view option, const std::string& text);

/// An amount of money as people write it.
struct Money {
  double amount = 0;
  std::string currency = {};  ///< as it is written; empty: none is
};

/// "900", "900 EUR", "$900" or "EUR 900". Throws as hours_of() does.
Money money_of(std::string_view option, const std::string& text);

}  // namespace packsim
