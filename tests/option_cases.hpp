#pragma once

#include <vector>

#include "packing/strategy.hpp"

namespace packsim_test {

/// A value that an option is given.
struct OptionCase {
  packsim::OptionValue value;
  bool accepted = false;
};

/// The default and both ends of the range, and what is just outside it.
inline std::vector<OptionCase> option_cases(const packsim::Option& option) {
  std::vector<OptionCase> cases = {{packsim::default_value(option), true}};
  switch (option.type) {
    case packsim::OptionType::boolean:
      cases.insert(cases.end(), {{true, true}, {false, true}, {"maybe", false}});
      break;
    case packsim::OptionType::integer:
      cases.insert(cases.end(), {{option.least, true},
                                 {option.most, true},
                                 {option.least - 1, false},
                                 {option.most + 1, false},
                                 {"many", false}});
      break;
    case packsim::OptionType::number:
      cases.insert(cases.end(), {{static_cast<double>(option.least), true},
                                 {0.5, true},
                                 {static_cast<double>(option.most), true},
                                 {static_cast<double>(option.least) - 0.5, false},
                                 {static_cast<double>(option.most) + 0.5, false},
                                 {"long", false}});
      break;
    case packsim::OptionType::word:
      for (const std::string_view word : option.words()) cases.push_back({std::string(word), true});
      cases.insert(cases.end(), {{"no_such_word", false}, {"", false}});
      break;
  }
  return cases;
}

/// Calls check(strategy, option, case) for every option of every strategy.
template <typename Check>
void for_each_option_case(Check check) {
  for (const packsim::Strategy& strategy : packsim::strategies()) {
    for (const packsim::Option* option : strategy.options) {
      for (const OptionCase& one : option_cases(*option)) check(strategy, *option, one);
    }
  }
}

}  // namespace packsim_test
