#include "scenarios/loader/lengths/with_lengths.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/lengths/bad_rows.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/scenario_changes.hpp"

namespace packsim {
namespace {

void check_lengths(const NamedLengths& source, Problems& problems) {
  BadRows bad_rows(source.name, problems);
  if (source.lengths_tokens.empty()) bad_rows.add("all samples", "at least one length", "none");
  for (std::size_t i = 0; i < source.lengths_tokens.size(); ++i) {
    const std::int32_t length = source.lengths_tokens[i];
    if (length < 0 || length > kMostTokens) {
      bad_rows.add(fmt::format("sample {}", i), fmt::format("integer in 0..{}", kMostTokens),
                   fmt::format("{}", length));
    }
  }
}

void check_sources(const std::vector<NamedLengths>& sources, Problems& problems) {
  if (sources.empty()) problems.add({"", "lengths", "at least one source", "none"});
  std::set<std::string> names;
  for (const NamedLengths& source : sources) {
    if (source.name.empty()) problems.add({"", "lengths", "a name for each source", "\"\""});
    if (!names.insert(source.name).second)
      problems.add({"", "lengths", "another name for each source", quote(source.name) + " twice"});
    check_lengths(source, problems);
  }
}

// "lengths" of the scenario, with these names in place of the sources.
Json changed_lengths(const Json& before, std::span<const LengthSource> given) {
  Json lengths = before;
  lengths.erase("count");  // is shared out by the weights of files
  lengths.erase("with_replacement");
  lengths["mix"] = Json::array();
  for (const LengthSource& source : given) lengths["mix"].push_back({{"source", source.source}});
  return lengths;
}

}  // namespace

std::vector<LengthSource> given_sources(std::vector<NamedLengths> sources) {
  Problems problems;
  check_sources(sources, problems);
  problems.throw_if_any();
  std::vector<LengthSource> given;
  for (NamedLengths& source : sources) {
    const auto* const bytes = reinterpret_cast<const char*>(source.lengths_tokens.data());
    std::string hash = hash_of({bytes, source.lengths_tokens.size() * sizeof(std::int32_t)});
    const std::string name = source.name;
    given.push_back({.path = {},
                     .source = std::move(source.name),
                     .count = {},
                     .weight = {},
                     .name = name,
                     .given = std::make_shared<const SourceLengths>(
                         SourceLengths{std::move(hash), std::move(source.lengths_tokens)})});
  }
  return given;
}

Scenario with_sources(const Scenario& scenario, std::span<const LengthSource> given) {
  Scenario changed = scenario;
  Json json = *scenario.json;
  json["lengths"] = changed_lengths(json["lengths"], given);
  changed.scenario_hash = hash_of_scenario(json);
  changed.scenario_text = scenario_text_of(json);
  changed.json = std::make_shared<const Json>(std::move(json));
  changed.lengths = {.mix = {given.begin(), given.end()}, .count = {}, .shuffle = scenario.lengths.shuffle};
  return changed;
}

Scenario with_lengths(const Scenario& scenario, std::vector<NamedLengths> sources) {
  return with_sources(scenario, given_sources(std::move(sources)));
}

}  // namespace packsim
