#include "scenarios/loader/json/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace packsim {
namespace {

constexpr std::size_t kMostEdits = 3;

// A third of a short name; of a long one as many as from "--strategies" to "--strategy".
std::size_t edits_allowed(std::size_t length) {
  constexpr std::size_t kLong = 12;
  return length < kLong ? std::min<std::size_t>(2, length / 3) : kMostEdits;
}

// Insertions, deletions, replacements and swaps of neighbours that lead from a to b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits[a.size()][b.size()];
}

bool lengths_are_near(std::size_t a, std::size_t b) {
  return std::max(a, b) - std::min(a, b) <= kMostEdits;
}

}  // namespace

const std::string* nearest_name(std::string_view got, std::span<const std::string> known) {
  std::size_t fewest = edits_allowed(got.size()) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& name : known) {
    // The name may be as long as a file; only a few lengths are worth comparing.
    if (!lengths_are_near(got.size(), name.size())) continue;
    const std::size_t edits = edit_distance(got, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = &name;
  }
  return nearest;
}

std::string suggest(std::string_view got, std::span<const std::string> known) {
  const std::string* nearest = nearest_name(got, known);
  if (nearest != nullptr) return "did you mean " + *nearest + "?";
  return "known: " + (known.empty() ? "none" : join(known));
}

std::string expected_one_of(std::string_view got, std::span<const std::string> known) {
  const std::string* nearest = nearest_name(got, known);
  const std::string hint = nearest == nullptr ? "" : " (did you mean " + *nearest + "?)";
  return "one of " + join(known) + hint;
}

std::string join(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace packsim
