#include <fmt/format.h>

#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

// "mixture_real_short" of "data/mixture_real_short.csv".
std::string stem_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.find('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

GroupCut read_groups_of_subset(JsonReader reader) {
  GroupCut cut;
  if (reader.silent()) return cut;
  cut.column = reader.string("column", "");
  const std::optional<int> n_groups = reader.optional_integer("quantiles", 1, kMostMixtureGroups);
  for (const int part : reader.integers("parts", 1, static_cast<int>(kMostDrawnSamples)))
    cut.parts_samples.push_back(part);
  if (reader.has("parts")) {
    cut.kind = GroupCut::Kind::parts;
    for (const char* key : {"column", "quantiles"}) {
      if (reader.has(key)) reader.refuse(key, fmt::format("no {} beside parts", key));
    }
    if (cut.parts_samples.size() > kMostMixtureGroups)
      reader.refuse("parts", fmt::format("at most {} parts", kMostMixtureGroups));
  } else if (n_groups) {
    cut.kind = GroupCut::Kind::quantiles;
    cut.n_groups = *n_groups;
    if (!reader.has("column")) cut.column = "tokens";
  } else if (!cut.column.empty()) {
    cut.kind = GroupCut::Kind::values;
  } else if (!reader.has("quantiles") && !reader.has("column")) {
    reader.refuse("column", "a column, quantiles or parts by which to form groups", "none");
  }
  return cut;
}

LengthSource read_source(JsonReader& reader, const std::string& scenario_folder, const DataPaths& data,
                         bool has_mixture) {
  LengthSource source;
  source.source = reader.string("source");
  if (!source.source.empty()) {
    const FoundFile file = find_lengths_file(source.source, scenario_folder, data);
    source.path = file.path;
    if (!is_lengths_file(source.source)) {
      reader.refuse("source", expected_lengths_file(source.source));
    } else if (is_standard_input(source.source) && is_standard_input(reader.file())) {
      reader.refuse("source", "a file, as the scenario itself comes from standard input");
    } else if (!file.found()) {
      reader.refuse("source", file.expected, file.got);
    }
  }
  source.count = reader.optional_integer("count", 1, kMostDrawnSamples);
  source.weight = reader.optional_positive("weight");
  if (reader.has("count") && reader.has("weight")) reader.refuse("weight", "no weight beside a count");
  source.name = reader.string("name", stem_of(source.source));
  source.groups = read_groups_of_subset(reader.optional_object("groups"));
  source.mixing_weight = reader.optional_positive("mixing_weight");
  for (const char* key : {"groups", "mixing_weight"}) {
    if (!has_mixture && reader.has(key))
      reader.refuse(key, fmt::format("no {} in a scenario without mixing", key));
  }
  return source;
}

// Weights share out a count: all sources have one, or none has.
void check_weights(JsonReader& spec, std::vector<JsonReader>& readers) {
  bool weighted = false;
  for (const JsonReader& source : readers) weighted = weighted || source.has("weight");
  if (!weighted) {
    if (spec.has("count")) spec.refuse("count", "no count for all sources where they have no weights");
    return;
  }
  if (!spec.has("count")) {
    spec.refuse("count", fmt::format("integer in 1..{} where the sources have weights", kMostDrawnSamples));
  }
  for (JsonReader& source : readers) {
    if (source.has("weight")) continue;
    if (source.has("count")) source.refuse("count", "a weight instead, as other sources of the mix have one");
    if (!source.has("count")) source.refuse("weight", "number > 0, as other sources of the mix have one");
  }
}

}  // namespace

LengthSpec read_length_spec(JsonReader reader, const std::string& scenario_folder, const DataPaths& data,
                            bool has_mixture) {
  LengthSpec lengths;
  std::vector<JsonReader> mix = reader.objects("mix");
  for (JsonReader& source : mix)
    lengths.mix.push_back(read_source(source, scenario_folder, data, has_mixture));
  lengths.count = reader.optional_integer("count", 1, kMostDrawnSamples);
  lengths.with_replacement = reader.boolean("with_replacement", false);
  lengths.shuffle = reader.boolean("shuffle", true);
  check_weights(reader, mix);
  return lengths;
}

}  // namespace packsim
