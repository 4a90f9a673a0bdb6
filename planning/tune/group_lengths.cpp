#include "planning/tune/group_lengths.hpp"

#include <stdexcept>

namespace packsim {

std::vector<ListedLength> listed_lengths(const LengthAndDegree& fastest, const LengthAndDegree& longest) {
  for (const LengthAndDegree& given : {fastest, longest}) {
    if (given.sequence.ulysses < 1 || given.sequence.ulysses > given.pack_tokens)
      throw std::invalid_argument("sp_degree: expected 1 to the pack length");
  }
  if (fastest.pack_tokens > longest.pack_tokens)
    throw std::invalid_argument("fastest: expected a length up to the longest one");
  std::vector<ListedLength> listed = {
      {fastest.pack_tokens / fastest.sequence.ulysses, LengthRole::gpu_of_fastest},
      {fastest.pack_tokens, LengthRole::fastest}};
  const std::int64_t gpu_of_longest = longest.pack_tokens / longest.sequence.ulysses;
  if (gpu_of_longest > fastest.pack_tokens) listed.push_back({gpu_of_longest, LengthRole::gpu_of_longest});
  listed.push_back({longest.pack_tokens, LengthRole::longest});
  return listed;
}

std::vector<std::int64_t> merged_lengths(const std::vector<ListedLength>& listed) {
  std::vector<std::int64_t> lengths_tokens;
  for (const ListedLength& one : listed) {
    if (lengths_tokens.empty() || lengths_tokens.back() != one.pack_tokens)
      lengths_tokens.push_back(one.pack_tokens);
  }
  return lengths_tokens;
}

}  // namespace packsim
