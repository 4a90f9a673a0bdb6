#include "scenarios/loader/schema/key_texts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "files/read_file.hpp"
#include "packing/strategy.hpp"

namespace packsim {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

std::vector<std::string> parts_of(std::string_view text, std::string_view between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    parts.push_back(trimmed(text.substr(at, end - at)));
    at = end + between.size();
  }
  return parts;
}

// The cells of a row of a table; none of another line.
std::vector<std::string> cells_of(std::string_view line) {
  if (!line.starts_with("| ") || !line.ends_with("|")) return {};
  return parts_of(line.substr(1, line.size() - 2), "|");
}

// What a cell says of key number `index` of n: its part, where the cell is a list of as many parts.
std::string share_of(const std::string& cell, std::string_view between, std::size_t index, std::size_t n) {
  const std::vector<std::string> parts = parts_of(cell, between);
  const bool is_list =
      parts.size() == n && std::none_of(parts.begin(), parts.end() - 1, [](const std::string& part) {
        return part.find(". ") != std::string::npos;
      });
  return is_list ? parts[index] : cell;
}

std::string text_of_cells(const std::string& meaning, const std::string& fallback) {
  if (fallback.empty() || fallback == "required" || fallback == "optional") return meaning;
  return meaning + (meaning.ends_with('.') ? " Default: " : ". Default: ") + fallback;
}

// "[text](address)" without its address.
std::string without_links(std::string text) {
  for (std::size_t at; (at = text.find("](")) != std::string::npos;) {
    text.erase(at, text.find(')', at) + 1 - at);
    text.erase(text.rfind('[', at), 1);
  }
  return text;
}

// The texts between backticks.
std::vector<std::string> names_in_cell(std::string_view cell) {
  std::vector<std::string> parts = parts_of(cell, "`");
  std::vector<std::string> names;
  for (std::size_t i = 1; i < parts.size(); i += 2) names.push_back(parts[i]);
  return names;
}

// "/mix/[]/source" of "mix[].source".
std::string schema_place(const std::string& name) {
  std::string place = "/";
  for (const char c : name) {
    if (c == '[') place += '/';
    place += c == '.' ? '/' : c;
  }
  return place;
}

// ".nodes" behind "cluster.type" is "cluster.nodes".
std::string whole_name(const std::string& name, const std::string& before) {
  return name.starts_with(".") ? before.substr(0, before.rfind('.')) + name : name;
}

// Tables whose keys are in objects of a file that is described in another table.
struct InnerTable {
  std::string_view of;
  std::string_view first_cell;
  std::string_view place;
};

constexpr std::array<InnerTable, 5> kInnerTables = {
    {{"a network", "key of a vertex", "/vertices/[]"},
     {"a network", "key of a link", "/links/[]"},
     {"a cluster type", "key of a network", "/network"},
     {"a cluster type", "key of a vertex", "/network/vertices/[]"},
     {"a cluster type", "key of a link", "/network/links/[]"}}};

// Where the keys of a table are, by the first cell of its first row.
std::optional<std::string> place_of_table(const std::string& first_cell, std::string_view of) {
  if (first_cell == "key of " + std::string(of)) return "";
  for (const InnerTable& table : kInnerTables) {
    if (table.of == of && table.first_cell == first_cell) return std::string(table.place);
  }
  if (of != "a scenario" || !first_cell.starts_with("key of `")) return std::nullopt;
  const std::string member = names_in_cell(first_cell).front();
  return "/" + member + (member == "strategies" ? "/[]" : "");
}

// Objects that have keys which the page explains at another one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kExplainedAt = {
    {{"/packing", "/strategies/[]"},
     {"/strategies/[]/groups/[]", "/strategies/[]"},
     {"/strategies/[]/parallelism", "/parallelism"}}};

}  // namespace

KeyTexts::KeyTexts(std::string_view markdown, std::string_view of) {
  std::optional<std::string> place;
  for (const std::string& line : parts_of(markdown, "\n")) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != 3) {
      if (!line.starts_with("|---")) place = std::nullopt;
      continue;
    }
    if (cells[0].starts_with("key of ")) place = place_of_table(cells[0], of);
    if (!place || cells[0].starts_with("key of ")) continue;
    const std::vector<std::string> names = names_in_cell(cells[0]);
    std::string before;
    for (std::size_t i = 0; i < names.size(); ++i) {
      before = whole_name(names[i], before);
      const std::string text =
          text_of_cells(share_of(cells[1], "; ", i, names.size()), share_of(cells[2], ", ", i, names.size()));
      texts_.emplace(*place + schema_place(before), without_links(text));
    }
  }
}

std::string KeyTexts::text_of(const std::string& place, const std::string& key) const {
  const auto at = texts_.find(place + "/" + key);
  if (at != texts_.end()) return at->second;
  const bool has_options = place == "/packing" || place == "/strategies/[]";
  if (has_options && find_option(key) != nullptr) return std::string(find_option(key)->text);
  const auto* const other =
      std::ranges::find(kExplainedAt, place, &std::pair<std::string_view, std::string_view>::first);
  return other == kExplainedAt.end() ? "" : text_of(std::string(other->second), key);
}

std::string pages_of_keys(const DataPaths& data) {
  constexpr std::int64_t kMostBytes = 1'000'000;
  std::string text;
  for (const char* page :
       {"/docs/scenarios.md", "/docs/networks.md", "/models/gpus/README.md", "/docs/planning.md"}) {
    text += read_file(data.root + page, kMostBytes);
  }
  return text;
}

}  // namespace packsim
