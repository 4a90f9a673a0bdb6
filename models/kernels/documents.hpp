#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// Documents of one length in a pack.
struct DocumentRun {
  std::int64_t n_documents = 0;
  std::int64_t length_tokens = 0;
  bool operator==(const DocumentRun&) const = default;
};

/// The documents of one pack, in the order in which they lie in it.
struct Documents {
  std::vector<DocumentRun> runs;

  std::int64_t n_documents() const;
  std::int64_t tokens() const;
  std::int64_t longest_tokens() const;
  /// Sum of squared lengths: attention's work.
  double squared_tokens() const;
  /// Start of every document and the end of the last: [n_documents + 1], as attention kernels want it.
  std::vector<std::int32_t> cumulative_tokens() const;
  /// [n_documents]
  std::vector<std::int32_t> lengths_tokens() const;
  bool operator==(const Documents&) const = default;
};

/// "8x512+1x4096": eight documents of 512 tokens, then one of 4 096. Neighbours of one length are one run.
/// Throws std::invalid_argument for anything else, for numbers below 1 and for over 2^31 - 1 tokens.
Documents parse_documents(std::string_view text);
std::string format_documents(const Documents& documents);

}  // namespace packsim
