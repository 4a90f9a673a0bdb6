#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace packsim_test {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The first line that begins with `start`, and those after it.
inline std::vector<std::string> lines_from(const std::string& text, const std::string& start) {
  std::vector<std::string> lines = lines_of(text);
  const auto found =
      std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(start); });
  REQUIRE(found != lines.end());
  return {found, lines.end()};
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The text in one line: what was wrapped is joined by one space.
inline std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string joined;
  for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

}  // namespace packsim_test
