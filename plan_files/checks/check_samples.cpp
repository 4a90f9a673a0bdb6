#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>

#include "plan_files/checks/checks.hpp"

namespace packsim {
namespace {

// What the tables of a plan give of the counts in its facts. Not said: less than 0.
struct TrueCounts {
  std::int64_t n_tokens = 0;  // those of dropped samples and cut-off ones left out, where samples are cut
  std::int64_t dropped_samples = 0;
  std::int64_t dropped_tokens = 0;
  std::int64_t empty_samples = 0;
};

bool is_hash(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void expect_hash(const PlanFacts& facts, const std::string& expected, Mistakes& mistakes) {
  if (facts.lengths_hash != expected)
    mistakes.add("facts: /lengths_hash", expected + ", the hash of lengths_tokens", facts.lengths_hash);
}

// Samples are left out for a reason that the facts give.
void check_policies(const PlanFacts& facts, Mistakes& mistakes) {
  const PackCounts& counts = facts.counts;
  const auto expect_none = [&](const char* key, std::int64_t value, bool may_be, const std::string& why) {
    if (value != 0 && !may_be)
      mistakes.add(std::string("facts: /") + key, "0, " + why, std::to_string(value));
  };
  const std::string over_long =
      "as over_long is " + std::string(policy_name(kOverLongNames, facts.over_long));
  const std::string empty = "as empty is " + std::string(policy_name(kEmptyNames, facts.empty));
  expect_none("dropped_samples", counts.dropped_samples, facts.over_long == OverLong::drop, over_long);
  expect_none("truncated_samples", counts.truncated_samples, facts.over_long == OverLong::truncate,
              over_long);
  expect_none("own_pack_samples", counts.own_pack_samples, facts.over_long == OverLong::own_pack, over_long);
  expect_none("empty_samples", counts.empty_samples, facts.empty == Empty::drop, empty);
}

// Items are whole samples, and all of them are in the file.
void check_whole_samples(const PlanTables& tables, const PackedItems& packed, Mistakes& mistakes) {
  const PlanFacts& facts = tables.facts;
  const auto lengths = tables.lengths_tokens;
  TrueCounts truth{.n_tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})};
  if (packed.n_packed != std::ssize(lengths)) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (packed.is_packed[i]) continue;
      if (lengths[i] == 0 && facts.empty == Empty::drop) {
        ++truth.empty_samples;
      } else {
        ++truth.dropped_samples;
        truth.dropped_tokens += lengths[i];
      }
    }
  }
  const PackCounts& counts = facts.counts;
  mistakes.expect_fact("n_tokens", counts.n_tokens, truth.n_tokens, "the sum of lengths_tokens");
  mistakes.expect_fact("dropped_samples", counts.dropped_samples, truth.dropped_samples,
                       "the samples in no pack");
  mistakes.expect_fact("dropped_tokens", counts.dropped_tokens, truth.dropped_tokens,
                       "the tokens of samples in no pack");
  mistakes.expect_fact("empty_samples", counts.empty_samples, truth.empty_samples,
                       "the empty samples in no pack");
  const std::string whole = "as no sample is cut";
  mistakes.expect_fact("truncated_samples", counts.truncated_samples, 0, whole);
  mistakes.expect_fact("truncated_tokens", counts.truncated_tokens, 0, whole);
  mistakes.expect_fact("split_samples", counts.split_samples, 0, whole);
  mistakes.expect_fact("own_pack_samples", counts.own_pack_samples, packed.own_pack_samples,
                       "the samples that are longer than every pack length");
  expect_hash(facts, hash_of_lengths(lengths), mistakes);
}

// Reads the pieces of one sample after another.
class PieceReader {
 public:
  PieceReader(const PlanTables& tables, Mistakes& mistakes) : tables_(tables), mistakes_(mistakes) {}

  // False where pieces do not tile their samples, and nothing can be said of these.
  bool read() {
    const std::size_t n = tables_.piece_samples.size();
    for (std::size_t i = 0; i < n;) {
      std::size_t end = i + 1;
      const std::uint32_t sample = tables_.piece_samples[i];
      while (end < n && tables_.piece_samples[end] == sample) ++end;
      if (!read_sample(i, end)) return false;
      i = end;
    }
    return true;
  }

  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  std::int64_t n_split = 0;
  std::int64_t longest_tokens = 0;
  std::int64_t n_longest = 0;  // samples of that length
  // Whether the lengths of all samples are known, if those that have no piece have no tokens.
  bool has_hash() const {
    return tables_.facts.counts.dropped_samples == 0 && tables_.facts.counts.truncated_samples == 0;
  }
  // Hashes the lengths of all samples.
  std::string hash() {
    hash_empty(tables_.facts.counts.n_samples);
    flush();
    return hash_.text();
  }

 private:
  bool read_sample(std::size_t begin, std::size_t end) {
    const std::uint32_t sample = tables_.piece_samples[begin];
    if (sample < next_sample_) {
      mistakes_.add("piece_samples", begin, "the pieces of a sample side by side, and samples ascending",
                    sample);
      return false;
    }
    std::int64_t tokens = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (tables_.piece_starts[i] != tokens) {
        mistakes_.add("piece_starts", i, std::to_string(tokens) + ", where the piece before it ends",
                      tables_.piece_starts[i]);
        return false;
      }
      const bool may_be_empty = tables_.facts.empty == Empty::keep && end - begin == 1;
      if (tables_.lengths_tokens[i] == 0 && !may_be_empty) {
        mistakes_.add("lengths_tokens", i, "a piece with tokens", 0);
        return false;
      }
      tokens += tables_.lengths_tokens[i];  // below 2^31, as table_mistakes() has seen
    }
    count(sample, end - begin, tokens);
    return true;
  }

  void count(std::uint32_t sample, std::size_t n_pieces, std::int64_t tokens) {
    ++n_samples;
    n_tokens += tokens;
    n_split += n_pieces > 1 ? 1 : 0;
    if (tokens > longest_tokens) {
      longest_tokens = tokens;
      n_longest = 0;
    }
    n_longest += tokens == longest_tokens ? 1 : 0;
    hash_empty(sample);
    push(static_cast<std::int32_t>(tokens));
    next_sample_ = sample + std::int64_t{1};
  }

  // Hashes the samples without pieces before `sample`.
  void hash_empty(std::int64_t sample) {
    if (!has_hash() || sample == next_sample_) return;
    static constexpr std::array<std::int32_t, 4096> kNone = {};
    flush();
    for (std::int64_t left = sample - next_sample_; left > 0; left -= std::ssize(kNone))
      hash_.add(std::span(kNone).first(static_cast<std::size_t>(std::min(left, std::ssize(kNone)))));
  }

  void push(std::int32_t length_tokens) {
    lengths_[n_lengths_++] = length_tokens;
    if (n_lengths_ == lengths_.size()) flush();
  }

  void flush() {
    hash_.add(std::span(lengths_).first(n_lengths_));
    n_lengths_ = 0;
  }

  const PlanTables& tables_;
  Mistakes& mistakes_;
  std::int64_t next_sample_ = 0;  // the least that may follow
  HashOfLengths hash_;
  std::array<std::int32_t, 4096> lengths_ = {};  // to be hashed
  std::size_t n_lengths_ = 0;
};

// Only where the sample of each item is said. Samples without a piece are not in the file.
void check_cut_samples(const PlanTables& tables, const Strategy& strategy, const PackedItems& packed,
                       Mistakes& mistakes) {
  const PlanFacts& facts = tables.facts;
  const PackCounts& counts = facts.counts;
  if (packed.n_packed < std::ssize(tables.lengths_tokens)) {
    mistakes.add("pack_items", "all pieces",
                 std::to_string(std::ssize(tables.lengths_tokens) - packed.n_packed) + " in no pack");
  }
  PieceReader pieces(tables, mistakes);
  if (!pieces.read()) return;
  const std::int64_t left_out = counts.n_samples - pieces.n_samples;
  if (counts.dropped_samples > left_out || counts.empty_samples != left_out - counts.dropped_samples) {
    mistakes.add("facts: /dropped_samples and /empty_samples",
                 std::to_string(left_out) + ", the samples without a piece",
                 std::to_string(counts.dropped_samples) + " and " + std::to_string(counts.empty_samples));
  }
  if (counts.dropped_tokens < counts.dropped_samples ||
      (counts.dropped_samples == 0) != (counts.dropped_tokens == 0))
    mistakes.add("facts: /dropped_tokens",
                 "those of " + std::to_string(counts.dropped_samples) + " dropped samples",
                 std::to_string(counts.dropped_tokens));
  if (counts.truncated_tokens < counts.truncated_samples ||
      (counts.truncated_samples == 0) != (counts.truncated_tokens == 0))
    mistakes.add("facts: /truncated_tokens",
                 "those of " + std::to_string(counts.truncated_samples) + " truncated samples",
                 std::to_string(counts.truncated_tokens));
  if (counts.truncated_samples > pieces.n_longest) {
    mistakes.add("facts: /truncated_samples",
                 "at most " + std::to_string(pieces.n_longest) + ", the samples of " +
                     std::to_string(pieces.longest_tokens) + " tokens, the longest in packs",
                 std::to_string(counts.truncated_samples));
  }
  std::int64_t lost_tokens = 0;
  if (__builtin_add_overflow(counts.dropped_tokens, counts.truncated_tokens, &lost_tokens) ||
      counts.n_tokens - lost_tokens != pieces.n_tokens) {
    mistakes.add(
        "facts: /n_tokens",
        std::to_string(pieces.n_tokens) + " of pieces and those of /dropped_tokens and /truncated_tokens",
        std::to_string(counts.n_tokens));
  }
  mistakes.expect_fact("split_samples", counts.split_samples, pieces.n_split,
                       "the samples of several pieces");
  if (pieces.n_split > 0 && facts.over_long != OverLong::split && !strategy.cuts_samples)
    mistakes.add(
        "piece_samples",
        "samples of one piece, as over_long is " + std::string(policy_name(kOverLongNames, facts.over_long)),
        std::to_string(pieces.n_split) + " of several");
  mistakes.expect_fact("own_pack_samples", counts.own_pack_samples, 0, "as samples are cut");
  if (pieces.has_hash() && counts.empty_samples == left_out) expect_hash(facts, pieces.hash(), mistakes);
}

}  // namespace

void check_samples(const PlanTables& tables, const Strategy& strategy, const PackedItems& packed,
                   Mistakes& mistakes) {
  const PlanFacts& facts = tables.facts;
  if (!is_hash(facts.lengths_hash)) {
    mistakes.add("facts: /lengths_hash", "32 hexadecimal digits",
                 "\"" + facts.lengths_hash.substr(0, 40) + "\"");
    return;
  }
  check_policies(facts, mistakes);
  const bool is_whole =
      std::ssize(tables.lengths_tokens) == facts.counts.n_samples && tables.piece_samples.empty();
  if (is_whole) {
    check_whole_samples(tables, packed, mistakes);
  } else {
    check_cut_samples(tables, strategy, packed, mistakes);
  }
}

}  // namespace packsim
