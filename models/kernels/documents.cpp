#include "models/kernels/documents.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace packsim {
namespace {

// The count at the front of `text`, which it takes off; 0 where there is none.
std::int64_t take_count(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 1) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::int64_t Documents::n_documents() const {
  std::int64_t n = 0;
  for (const DocumentRun& run : runs) n += run.n_documents;
  return n;
}

std::int64_t Documents::tokens() const {
  std::int64_t sum = 0;
  for (const DocumentRun& run : runs) sum += run.n_documents * run.length_tokens;
  return sum;
}

std::int64_t Documents::longest_tokens() const {
  std::int64_t longest = 0;
  for (const DocumentRun& run : runs) longest = std::max(longest, run.length_tokens);
  return longest;
}

double Documents::squared_tokens() const {
  double sum = 0;
  for (const DocumentRun& run : runs) {
    const auto length = static_cast<double>(run.length_tokens);
    sum += static_cast<double>(run.n_documents) * length * length;
  }
  return sum;
}

std::vector<std::int32_t> Documents::cumulative_tokens() const {
  std::vector<std::int32_t> starts{0};
  for (const DocumentRun& run : runs) {
    for (std::int64_t i = 0; i < run.n_documents; ++i)
      starts.push_back(starts.back() + static_cast<std::int32_t>(run.length_tokens));
  }
  return starts;
}

std::vector<std::int32_t> Documents::lengths_tokens() const {
  std::vector<std::int32_t> lengths_tokens;
  lengths_tokens.reserve(static_cast<std::size_t>(n_documents()));
  for (const DocumentRun& run : runs) {
    lengths_tokens.insert(lengths_tokens.end(), static_cast<std::size_t>(run.n_documents),
                          static_cast<std::int32_t>(run.length_tokens));
  }
  return lengths_tokens;
}

Documents parse_documents(std::string_view text) {
  constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();
  const auto refuse = [whole = text] {
    throw std::invalid_argument("expected documents like 8x512+1x4096 of at most 2147483647 tokens, got \"" +
                                std::string(whole) + "\"");
  };
  Documents documents;
  std::int64_t tokens = 0;
  for (std::string_view rest = text;;) {
    DocumentRun run;
    run.n_documents = take_count(rest);
    if (run.n_documents == 0 || !rest.starts_with('x')) refuse();
    rest.remove_prefix(1);
    run.length_tokens = take_count(rest);
    if (run.length_tokens == 0 || run.n_documents > kMostTokens / run.length_tokens) refuse();
    tokens += run.n_documents * run.length_tokens;
    if (tokens > kMostTokens) refuse();
    if (!documents.runs.empty() && documents.runs.back().length_tokens == run.length_tokens) {
      documents.runs.back().n_documents += run.n_documents;
    } else {
      documents.runs.push_back(run);
    }
    if (rest.empty()) return documents;
    if (!rest.starts_with('+')) refuse();
    rest.remove_prefix(1);
  }
}

std::string format_documents(const Documents& documents) {
  std::string text;
  for (const DocumentRun& run : documents.runs) {
    if (!text.empty()) text += '+';
    text += std::to_string(run.n_documents) + "x" + std::to_string(run.length_tokens);
  }
  return text;
}

}  // namespace packsim
