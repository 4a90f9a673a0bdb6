#include "python/bindings/options_of.hpp"

#include <string>
#include <type_traits>
#include <variant>

#include "packing/option_table.hpp"

namespace packsim::python {
namespace {

// The table's text, which lives as long as the program.
std::string_view word_of(const OptionRow& row, const std::string& given) {
  for (const std::string_view word : row.words()) {
    if (word == given) return word;
  }
  throw py::value_error(std::string(row.name) + ": expected no such word, got \"" + given + "\"");
}

}  // namespace

StrategyOptions options_of(const py::dict& given) {
  StrategyOptions options;
  for (const OptionRow& row : option_rows()) {
    const py::str name = text(row.name);
    if (!given.contains(name)) continue;
    std::visit(
        [&](auto member) {
          using Value = std::remove_reference_t<decltype(options.*member)>;
          if constexpr (std::is_same_v<Value, std::string_view>) {
            options.*member = word_of(row, given[name].cast<std::string>());
          } else {
            options.*member = given[name].cast<Value>();
          }
        },
        row.member);
  }
  return options;
}

}  // namespace packsim::python
