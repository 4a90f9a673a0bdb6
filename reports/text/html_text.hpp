#pragma once

#include <string>
#include <string_view>

namespace packsim::formats_detail {

/// Text from outside made safe between tags and in quoted attributes.
std::string html_escaped(std::string_view text);

/// JSON made safe inside a <script> element, where "</script>" would end it: the same value, with every '<'
/// written as \u003c. Correct because JSON has '<' inside strings only.
std::string script_escaped(std::string_view json);

}  // namespace packsim::formats_detail
