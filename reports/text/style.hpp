#pragma once

#include <string>
#include <string_view>

namespace packsim::formats_detail {

/// Colours for terminals. Texts are styled after they have been escaped and laid out, as escape sequences
/// have no width. Nothing is said by colour alone.
class Style {
 public:
  explicit Style(bool is_on) : is_on_(is_on) {}

  std::string bold(std::string_view text) const;
  std::string good(std::string_view text) const;     ///< bold green
  std::string bad(std::string_view text) const;      ///< red
  std::string warning(std::string_view text) const;  ///< bold yellow

 private:
  bool is_on_;
};

}  // namespace packsim::formats_detail
