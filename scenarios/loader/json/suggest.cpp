#include "scenarios/loader/json/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
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

// Whether the lengths of two names are worth comparing: a name may be as long as a file.
bool lengths_are_near(std::size_t a, std::size_t b) {
  return std::max(a, b) - std::min(a, b) <= kMostEdits;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The words of a name in lower case: "h100", "sxm" and "80gb" of "H100-SXM_80GB".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (is_letter_or_digit(lower(c))) {
      words.back() += lower(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string without_separators(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

// Twice the edits, and 1 more where case and separators were left out, so that of equals the name as it was
// written is nearer. Without them at most one edit counts: less is left of the names to tell them apart.
std::size_t distance_between(std::string_view got, std::string_view name) {
  std::size_t distance = 2 * (kMostEdits + 1);
  if (lengths_are_near(got.size(), name.size())) distance = 2 * edit_distance(got, name);
  const std::string plain_got = without_separators(words_of(got));
  const std::string plain_name = without_separators(words_of(name));
  if (plain_got.empty() || !lengths_are_near(plain_got.size(), plain_name.size())) return distance;
  const std::size_t plain_edits = edit_distance(plain_got, plain_name);
  return plain_edits <= 1 ? std::min(distance, 2 * plain_edits + 1) : distance;
}

// Whether a word is one of the words, or begins one: "h100", "capac".
bool begins_word_of(const std::string& word, const std::vector<std::string>& words) {
  constexpr std::size_t kShortest = 4;
  return std::ranges::any_of(words, [&](const std::string& one) {
    return one == word || (word.size() >= kShortest && one.starts_with(word));
  });
}

std::string digits_of(const std::string& word) {
  std::string digits;
  std::ranges::copy_if(word, std::back_inserter(digits), [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

// Whether a word is one edit away from one of the words: "h100x". Other numbers mean other things.
bool is_near_word_of(const std::string& word, const std::vector<std::string>& words) {
  constexpr std::size_t kShortest = 4;
  return std::ranges::any_of(words, [&](const std::string& one) {
    return std::min(one.size(), word.size()) >= kShortest && lengths_are_near(one.size(), word.size()) &&
           digits_of(word) == digits_of(one) && edit_distance(word, one) <= 1;
  });
}

// Whether one is a part of the other: all words of `got` are of the name, the two begin alike, or the whole
// name, of several words, stands in `got`.
bool is_part(const std::vector<std::string>& got, const std::vector<std::string>& name) {
  constexpr std::size_t kShortest = 3;
  const std::string plain_got = without_separators(got);
  const std::string plain_name = without_separators(name);
  if (std::ranges::all_of(got, [&](const std::string& word) { return begins_word_of(word, name); }))
    return true;
  if (plain_got.size() >= kShortest && plain_name.starts_with(plain_got)) return true;
  return name.size() > 1 && plain_got.find(plain_name) != std::string::npos;
}

// Whether all words of `got` are of the name, but for one edit in each.
bool is_nearly_part(const std::vector<std::string>& got, const std::vector<std::string>& name) {
  return std::ranges::all_of(got, [&](const std::string& word) {
    return begins_word_of(word, name) || is_near_word_of(word, name);
  });
}

std::vector<std::string> names_with_part(std::string_view got, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 100;
  constexpr std::size_t kShortest = 2;
  constexpr std::size_t kMostNames = 3;
  const std::vector<std::string> words = got.size() <= kLongest ? words_of(got) : std::vector<std::string>();
  std::vector<std::string> near;
  if (without_separators(words).size() < kShortest) return near;
  for (const auto is_alike : {is_part, is_nearly_part}) {
    std::ranges::copy_if(known, std::back_inserter(near),
                         [&](const std::string& name) { return is_alike(words, words_of(name)); });
    if (!near.empty()) break;
  }
  std::ranges::stable_sort(near, {}, &std::string::size);
  near.resize(std::min(near.size(), kMostNames));
  return near;
}

// The names that differ least, in their order.
std::vector<std::string> least_different(std::string_view got, std::span<const std::string> known,
                                         std::size_t n_names) {
  std::vector<std::pair<std::size_t, std::size_t>> order;  // edits, index
  for (std::size_t i = 0; i < known.size(); ++i)
    order.emplace_back(edit_distance(got.substr(0, known[i].size()), known[i]), i);
  std::ranges::sort(order);
  order.resize(n_names);
  std::ranges::sort(order, {}, [](const auto& row) { return row.second; });
  std::vector<std::string> names;
  for (const auto& [edits, index] : order) names.push_back(known[index]);
  return names;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view got, std::span<const std::string> known) {
  std::size_t least = 2 * edits_allowed(got.size()) + 2;
  std::vector<std::string> nearest;
  for (const std::string& name : known) {
    const std::size_t distance = distance_between(got, name);
    if (distance >= least) continue;
    least = distance;
    nearest = {name};
  }
  return nearest.empty() ? names_with_part(got, known) : nearest;
}

std::string did_you_mean(std::span<const std::string> names) {
  if (names.empty()) return "";
  std::string text = "did you mean " + join(names.first(std::max<std::size_t>(1, names.size() - 1)));
  if (names.size() > 1) text += " or " + names.back();
  return text + "?";
}

std::string suggest(std::string_view got, std::span<const std::string> known,
                    std::string_view listing_command) {
  constexpr std::size_t kLong = 12;
  constexpr std::size_t kShown = 5;
  if (const std::string meant = did_you_mean(nearest_names(got, known)); !meant.empty()) return meant;
  if (known.empty()) return "known: none";
  if (known.size() <= kLong || listing_command.empty()) return "known: " + join(known);
  return "known: " + join(least_different(got, known, kShown)) + " and " +
         std::to_string(known.size() - kShown) + " more, see " + std::string(listing_command);
}

std::string expected_one_of(std::string_view got, std::span<const std::string> known) {
  const std::string meant = did_you_mean(nearest_names(got, known));
  return "one of " + join(known) + (meant.empty() ? "" : " (" + meant + ")");
}

std::string join(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace packsim
