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
#include "scenarios/loader/lengths/read_column.hpp"
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

// Positions in the source: whole copies of it while they fit, then a draw without replacement.
std::vector<std::uint32_t> draw(std::size_t n, std::int64_t count, std::uint32_t seed) {
  Generator generator(seed);
  auto left = static_cast<std::size_t>(count);
  std::vector<std::uint32_t> drawn;
  drawn.reserve(left);
  for (; left > n; left -= n) {
    for (std::uint32_t position = 0; position < n; ++position) drawn.push_back(position);
  }
  for (const std::uint32_t position : choose(n, left, generator)) drawn.push_back(position);
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

// Checks the sum before drawing: each source may be within the limit, and all together far beyond memory.
void check_total(const std::vector<std::int64_t>& counts, Problems& problems) {
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (total <= kMostDrawnSamples) return;
  problems.add({.file = "",
                .place = "lengths",
                .expected = fmt::format("at most {} samples in all sources", kMostDrawnSamples),
                .got = fmt::format("{}", total)});
}

// The positions that are drawn of each source, in the order of the mix.
struct DrawnPositions {
  std::vector<std::shared_ptr<const SourceLengths>> sources;
  std::vector<std::vector<std::uint32_t>> positions;
};

DrawnPositions draw_sources(const LengthSpec& spec, std::uint32_t seed, Problems& problems) {
  DrawnPositions drawn{.sources = read_sources(spec, problems), .positions = {}};
  problems.throw_if_any();  // before counting: a source with bad rows has fewer lengths than it should
  const std::vector<std::int64_t> counts = counts_of(spec, drawn.sources, problems);
  problems.throw_if_any();
  check_total(counts, problems);
  problems.throw_if_any();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    drawn.positions.push_back(
        draw(drawn.sources[i]->lengths_tokens.size(), counts[i], seed + static_cast<std::uint32_t>(i)));
  }
  return drawn;
}

// Appends the lengths at these positions of a source, and says what it gave.
void add_source(const LengthSource& source, const SourceLengths& lengths,
                std::span<const std::uint32_t> positions, DrawnLengths& result) {
  const auto available = static_cast<std::int64_t>(lengths.lengths_tokens.size());
  DrawnSource& drawn = result.sources.emplace_back();
  drawn = {.name = source.source,
           .hash = lengths.hash,
           .n_samples = std::ssize(positions),
           .repeated_samples = std::max<std::int64_t>(std::ssize(positions) - available, 0)};
  for (const std::uint32_t position : positions) {
    result.lengths_tokens.push_back(lengths.lengths_tokens[position]);
    drawn.n_tokens += result.lengths_tokens.back();
  }
}

// [n positions] groups of the samples at these positions. `groups` may be of fewer samples than the source.
std::vector<std::uint32_t> groups_of_source(const LengthSource& source, const SourceLengths& lengths,
                                            std::span<const std::uint32_t> positions, Problems& problems) {
  const GroupCut& cut = source.groups;
  std::vector<std::uint32_t> groups(positions.size(), 0);
  const auto refuse = [&](std::string expected, std::string got) {
    problems.add({source.source, "groups", std::move(expected), std::move(got)});
  };
  if (cut.kind == GroupCut::Kind::whole) return groups;
  if (cut.kind == GroupCut::Kind::parts) {
    std::int64_t total = 0;
    for (const std::int64_t part : cut.parts_samples) total += part;
    if (total != std::ssize(positions)) {
      refuse(fmt::format("parts that add up to the {} samples of the source", positions.size()),
             fmt::format("a sum of {}", total));
      return groups;
    }
    std::size_t next = 0;
    for (std::size_t group = 0; group < cut.parts_samples.size(); ++group) {
      for (std::int64_t i = 0; i < cut.parts_samples[group]; ++i)
        groups[next++] = static_cast<std::uint32_t>(group);
    }
    return groups;
  }
  std::vector<double> column;
  if (cut.column == "tokens") {
    column.assign(lengths.lengths_tokens.begin(), lengths.lengths_tokens.end());
  } else if (source.given != nullptr) {
    refuse("the column tokens, as lengths that are given have no other", fmt::format("\"{}\"", cut.column));
    return groups;
  } else {
    const std::size_t before = problems.size();
    column = parse_column(source.path, read_file(source.path, kMostDataBytes), cut.column, problems);
    if (problems.size() > before) return groups;
  }
  std::vector<double> scores;
  for (const std::uint32_t position : positions) scores.push_back(column[position]);
  if (cut.kind == GroupCut::Kind::quantiles) {
    if (static_cast<std::size_t>(cut.n_groups) > scores.size()) {
      refuse(fmt::format("at most as many quantiles as its {} samples", scores.size()),
             fmt::format("{}", cut.n_groups));
      return groups;
    }
    return quantile_groups(scores, static_cast<std::size_t>(cut.n_groups));
  }
  std::vector<double> values = scores;
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > kMostMixtureGroups) {
    refuse(
        fmt::format("at most {} different values of {} (or \"quantiles\")", kMostMixtureGroups, cut.column),
        fmt::format("{}", values.size()));
    return groups;
  }
  for (std::size_t i = 0; i < scores.size(); ++i)
    groups[i] = static_cast<std::uint32_t>(std::ranges::lower_bound(values, scores[i]) - values.begin());
  return groups;
}

}  // namespace

DrawnLengths draw_lengths(const LengthSpec& spec, std::uint32_t seed) {
  Problems problems;
  const DrawnPositions drawn = draw_sources(spec, seed, problems);
  DrawnLengths result;
  for (std::size_t i = 0; i < drawn.sources.size(); ++i)
    add_source(spec.mix[i], *drawn.sources[i], drawn.positions[i], result);
  if (spec.shuffle) {
    Generator generator(seed + static_cast<std::uint32_t>(drawn.sources.size()));
    shuffle(std::span<std::int32_t>(result.lengths_tokens), generator);
  }
  return result;
}

DrawnSubsets draw_subsets(const LengthSpec& spec, std::uint32_t seed) {
  Problems problems;
  const DrawnPositions drawn = draw_sources(spec, seed, problems);
  DrawnSubsets result;
  for (std::size_t i = 0; i < drawn.sources.size(); ++i) {
    add_source(spec.mix[i], *drawn.sources[i], drawn.positions[i], result.lengths);
    result.subset_of.resize(result.lengths.lengths_tokens.size(), static_cast<std::uint32_t>(i));
    if (drawn.positions[i].empty()) {
      problems.add({spec.mix[i].source, "whole file",
                    "at least one sample, as each source is a subset of the mixture", "none by its weight"});
      continue;
    }
    for (const std::uint32_t group :
         groups_of_source(spec.mix[i], *drawn.sources[i], drawn.positions[i], problems))
      result.group_of.push_back(group);
  }
  problems.throw_if_any();
  return result;
}

}  // namespace packsim
