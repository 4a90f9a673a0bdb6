#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/lengths/length_formats.hpp"
#include "scenarios/loader/lengths/length_text.hpp"
#include "scenarios/loader/limits.hpp"

namespace packsim::length_formats {
namespace {

struct Bin {
  std::int32_t length_tokens = 0;
  std::int64_t n_samples = 0;
};

// The bins of a histogram as they stand in the file.
class Bins {
 public:
  explicit Bins(BadRows& bad_rows) : bad_rows_(bad_rows) {}

  void add(const std::string& key, const Json& n_samples) {
    const auto length = length_from_text(key);
    // "0128" would be a second spelling of "128".
    if (!length || std::to_string(*length) != key) {
      bad_rows_.add(place(key), "a length in 0..16777216 as key", quote(key));
      return;
    }
    const bool is_count = n_samples.is_number_unsigned() &&
                          n_samples.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMostDrawnSamples);
    if (!is_count) {
      bad_rows_.add(place(key), fmt::format("integer in 0..{}", kMostDrawnSamples), describe(n_samples));
      return;
    }
    bins_.push_back({*length, n_samples.get<std::int64_t>()});
    n_samples_ += bins_.back().n_samples;
  }

  std::vector<std::int32_t> lengths_tokens() {
    if (n_samples_ > kMostDrawnSamples) {
      bad_rows_.add("/histogram", fmt::format("at most {} samples", kMostDrawnSamples),
                    fmt::format("{}", n_samples_));
    }
    std::vector<std::int32_t> lengths;
    if (bad_rows_.count() > 0) return lengths;
    std::ranges::sort(bins_, {}, &Bin::length_tokens);
    lengths.reserve(static_cast<std::size_t>(n_samples_));
    for (const Bin& bin : bins_)
      lengths.insert(lengths.end(), static_cast<std::size_t>(bin.n_samples), bin.length_tokens);
    return lengths;
  }

 private:
  static std::string place(const std::string& key) { return "/histogram/" + pointer_step(key); }

  BadRows& bad_rows_;
  std::vector<Bin> bins_;
  std::int64_t n_samples_ = 0;
};

std::vector<std::int32_t> read_bins(JsonReader& reader, BadRows& bad_rows) {
  const Json* histogram = reader.value("histogram");
  if (histogram == nullptr || !histogram->is_structured()) {
    reader.refuse("histogram", "array or object of sample counts");
    return {};
  }
  Bins bins(bad_rows);
  for (const auto& [key, n_samples] : histogram->items()) bins.add(key, n_samples);
  return bins.lengths_tokens();
}

}  // namespace

std::vector<std::int32_t> histogram(std::string_view bytes, BadRows& bad_rows) {
  std::vector<std::int32_t> lengths_tokens;
  Problems problems;
  JsonDocument document{.file = bad_rows.file(), .hash = "", .root = nullptr};
  if (std::optional<Json> root = parse_json(document.file, bytes, problems)) {
    document.root = std::make_shared<const Json>(std::move(*root));
    JsonReader reader(document, problems);
    reader.integer("format", 1, 1);
    reader.string("name", "");
    reader.string("source", "");
    reader.string("description", "");
    lengths_tokens = read_bins(reader, bad_rows);
  }
  for (const Problem& problem : problems.all()) bad_rows.add(problem.place, problem.expected, problem.got);
  return lengths_tokens;
}

}  // namespace packsim::length_formats
