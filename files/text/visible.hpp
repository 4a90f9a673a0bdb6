#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// Text from files and arguments is data: no character of it may act on what shows it. What acts is written
/// as its code instead: \x1b for control characters (C0, C1, DEL), \u202e for characters that change the
/// direction of text, have no width or separate lines, \xff for a byte that is not UTF-8.

/// Whether a character is not seen but changes what is.
bool acts(char32_t c);

/// Whether a text has only characters of ASCII that are seen, which is the usual case and quick to tell.
bool is_plain(std::string_view text);

/// The characters of a text one by one, each as it is shown. kept: characters of ASCII that stay though they
/// act.
std::vector<std::string> shown_characters(std::string_view text, std::string_view kept);

/// The whole text as it is shown.
std::string visible(std::string_view text, std::string_view kept);

}  // namespace packsim
