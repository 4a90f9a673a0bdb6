#include "packing/pack_cost.hpp"

#include <algorithm>

namespace packsim {

double CostCurve::at(std::int64_t tokens_at) const {
  const auto above = std::ranges::lower_bound(tokens, tokens_at);
  return between(static_cast<std::size_t>(above - tokens.begin()), tokens_at);
}

double pack_time_s(const PackCost& cost, std::span<const std::int32_t> lengths_tokens) {
  std::int64_t tokens = 0;
  double documents_s = 0;
  std::int32_t longest_tokens = 0;
  for (const std::int32_t length : lengths_tokens) {
    tokens += length;
    documents_s += cost.document_s.at(length);
    longest_tokens = std::max(longest_tokens, length);
  }
  return cost.pack_s(tokens, documents_s, longest_tokens);
}

}  // namespace packsim
