#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace packsim {

/// Every program of the project takes text from files and arguments through one of these functions before it
/// prints it to a terminal. What would act there is shown as its code (visible.hpp).

/// The longest name, and the longest other text, that terminals show whole, in characters.
inline constexpr std::size_t kLongestName = 100;
inline constexpr std::size_t kLongestLine = 4000;

/// Text for one line of a terminal: line feeds and tabs are escaped too. Of longer text the middle is left
/// out, and its place says how many characters the text has.
std::string printable(std::string_view text, std::size_t most_characters = kLongestLine);

/// A name in a table or a sentence: printable(), with at most kLongestName characters.
std::string printable_name(std::string_view name);

/// The same for text of several lines, each of which is shortened by itself.
std::string printable_lines(std::string_view text);

/// The same for an error of a program: its name is in front of every line, as there may be several mistakes.
std::string message_lines(std::string_view program, std::string_view message);

}  // namespace packsim
