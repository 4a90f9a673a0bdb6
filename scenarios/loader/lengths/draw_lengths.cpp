#include "scenarios/loader/lengths/draw_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "files/read_file.hpp"
#include "packing/algorithms/shuffle.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/limits.hpp"

namespace packsim {
namespace {

// Shares of `count` by weight, by largest remainder: rounded down, and what is left goes to those that lost
// most, the first of equals first.
std::vector<std::int64_t> shares(const std::vector<LengthSource>& mix, std::int64_t count) {
  double largest = 0;
  for (const LengthSource& source : mix) largest = std::max(largest, source.weight.value_or(0));
  double total = 0;  // of weights over the largest: no sum of huge weights leaves the range of double
  for (const LengthSource& source : mix) total += source.weight.value_or(0) / largest;

  std::vector<std::int64_t> counts;
  std::vector<double> remainders;
  for (const LengthSource& source : mix) {
    const double exact = static_cast<double>(count) * (source.weight.value_or(0) / largest / total);
    counts.push_back(static_cast<std::int64_t>(std::floor(exact)));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<std::size_t> order(mix.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return remainders[i]; });
  std::int64_t left = count - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; ++i, --left) ++counts[order[i % order.size()]];
  return counts;
}

// `count` of n positions, ascending: the head of a shuffle that stops when it has them.
std::vector<std::uint32_t> choose(std::size_t n, std::size_t count, Generator& generator) {
  std::vector<std::uint32_t> positions(n);
  std::iota(positions.begin(), positions.end(), std::uint32_t{0});
  if (count == n) return positions;
  for (std::size_t i = 0; i < count; ++i) {
    const auto last = static_cast<std::uint32_t>(n - 1 - i);
    std::swap(positions[i], positions[i + uniform_up_to(generator, last)]);
  }
  positions.resize(count);
  std::ranges::sort(positions);
  return positions;
}

// Whole copies of the source while they fit, then a draw without replacement.
std::vector<std::int32_t> draw(std::span<const std::int32_t> lengths_tokens, std::int64_t count,
                               std::uint32_t seed) {
  Generator generator(seed);
  const std::size_t n = lengths_tokens.size();
  auto left = static_cast<std::size_t>(count);
  std::vector<std::int32_t> drawn;
  drawn.reserve(left);
  for (; left > n; left -= n) drawn.insert(drawn.end(), lengths_tokens.begin(), lengths_tokens.end());
  for (const std::uint32_t position : choose(n, left, generator)) drawn.push_back(lengths_tokens[position]);
  return drawn;
}

// The samples of each source. A file that several sources name is read once.
std::vector<std::shared_ptr<const SourceLengths>> read_sources(const LengthSpec& spec, Problems& problems) {
  std::map<std::string, std::shared_ptr<const SourceLengths>> by_path;
  std::vector<std::shared_ptr<const SourceLengths>> sources;
  for (const LengthSource& source : spec.mix) {
    if (source.given != nullptr) {
      sources.push_back(source.given);
      continue;
    }
    std::shared_ptr<const SourceLengths>& file = by_path[source.path];
    if (file == nullptr) {
      const std::string bytes = read_file(source.path, kMostDataBytes);
      file = std::make_shared<const SourceLengths>(
          SourceLengths{hash_of(bytes), parse_lengths(source.path, bytes, problems)});
    }
    sources.push_back(file);
  }
  return sources;
}

// How many samples each source gives.
std::vector<std::int64_t> counts_of(const LengthSpec& spec,
                                    const std::vector<std::shared_ptr<const SourceLengths>>& sources,
                                    Problems& problems) {
  const bool weighted = !spec.mix.empty() && spec.mix[0].weight.has_value();
  std::vector<std::int64_t> counts =
      weighted ? shares(spec.mix, spec.count.value_or(0)) : std::vector<std::int64_t>{};
  for (std::size_t i = 0; i < spec.mix.size(); ++i) {
    const auto available = static_cast<std::int64_t>(sources[i]->lengths_tokens.size());
    if (!weighted) counts.push_back(spec.mix[i].count.value_or(available));
    if (counts[i] > available && !spec.with_replacement) {
      problems.add(
          {spec.mix[i].path, "whole file",
           fmt::format("at least the {} lengths that the scenario draws (or \"with_replacement\": true)",
                       counts[i]),
           fmt::format("{}", available)});
    }
  }
  return counts;
}

// Before anything is drawn: each source may be within the limit and all together far beyond memory.
void check_total(const std::vector<std::int64_t>& counts, Problems& problems) {
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (total <= kMostDrawnSamples) return;
  problems.add({.file = "",
                .place = "lengths",
                .expected = fmt::format("at most {} samples in all sources", kMostDrawnSamples),
                .got = fmt::format("{}", total)});
}

}  // namespace

DrawnLengths draw_lengths(const LengthSpec& spec, std::uint32_t seed) {
  Problems problems;
  const std::vector<std::shared_ptr<const SourceLengths>> sources = read_sources(spec, problems);
  problems.throw_if_any();  // before counting: a source with bad rows has fewer lengths than it should
  const std::vector<std::int64_t> counts = counts_of(spec, sources, problems);
  problems.throw_if_any();
  check_total(counts, problems);
  problems.throw_if_any();

  DrawnLengths result;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::vector<std::int32_t> drawn =
        draw(sources[i]->lengths_tokens, counts[i], seed + static_cast<std::uint32_t>(i));
    const auto available = static_cast<std::int64_t>(sources[i]->lengths_tokens.size());
    result.sources.push_back({.name = spec.mix[i].source,
                              .hash = sources[i]->hash,
                              .n_samples = counts[i],
                              .n_tokens = std::accumulate(drawn.begin(), drawn.end(), std::int64_t{0}),
                              .repeated_samples = std::max<std::int64_t>(counts[i] - available, 0)});
    result.lengths_tokens.insert(result.lengths_tokens.end(), drawn.begin(), drawn.end());
  }
  if (spec.shuffle) {
    Generator generator(seed + static_cast<std::uint32_t>(sources.size()));
    shuffle(std::span<std::int32_t>(result.lengths_tokens), generator);
  }
  return result;
}

}  // namespace packsim
