#include "packing/algorithms/cp_blocks.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

namespace packsim {

CpGroups::CpGroups(const BatchProblem& problem, std::string_view strategy)
    : problem_(problem),
      n_gpus_(static_cast<std::size_t>(problem.setting.n_gpus)),
      n_groups_(problem.setting.groups.size()) {
  const auto& groups = problem.setting.groups;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const int below = groups[i - 1].gpus_per_pack;
    if (groups[i].gpus_per_pack > below && groups[i].gpus_per_pack % below == 0) continue;
    throw std::invalid_argument("groups[" + std::to_string(i) + "].gpus_per_pack: expected a multiple of " +
                                std::to_string(below) + " above it for " + std::string(strategy) + ", got " +
                                std::to_string(groups[i].gpus_per_pack));
  }
  while (n_groups_ > 0 && degree(n_groups_ - 1) > n_gpus_) --n_groups_;
}

void CpGroups::check_samples(std::string_view strategy) const {
  const auto lengths = problem_.items.lengths_tokens;
  for (ItemIndex item = 0; item < lengths.size(); ++item) {
    if (problem_.items.skips(lengths[item]) || group_for(item) < n_groups_) continue;
    const std::int64_t most = n_groups_ == 0 ? 0 : capacity_tokens(n_groups_ - 1);
    throw std::invalid_argument("lengths_tokens: expected samples of at most " + std::to_string(most) +
                                " tokens for " + std::string(strategy) + " on " + std::to_string(n_gpus_) +
                                " GPUs, got sample " + std::to_string(item) + " of " +
                                std::to_string(lengths[item]));
  }
}

std::size_t CpGroups::group_for(ItemIndex item) const {
  const auto& groups = problem_.setting.groups;
  const auto holds = std::ranges::lower_bound(groups, length(item), {}, &BatchGroup::capacity_tokens);
  return holds == groups.end() ? groups.size() - 1 : static_cast<std::size_t>(holds - groups.begin());
}

double CpGroups::work(ItemIndex item, std::size_t group) const {
  const auto tokens = static_cast<double>(length(item));
  return tokens * tokens / static_cast<double>(degree(group));
}

std::size_t CpGroups::n_busy(const std::vector<CpBlock>& blocks) const {
  std::size_t n = 0;
  for (const CpBlock& block : blocks) n += degree(block.group);
  return n;
}

void CpGroups::add(CpBlock& block, ItemIndex item) const {
  block.items.push_back(item);
  block.tokens += length(item);
  block.work += work(item, block.group);
}

bool CpGroups::grow_a_block(std::vector<CpBlock>& blocks) const {
  const auto least = std::ranges::min_element(blocks, {}, &CpBlock::group);
  if (least == blocks.end() || least->group + 1 >= n_groups_) return false;
  const std::size_t grown = least->group + 1;
  if (n_busy(blocks) + degree(grown) - degree(least->group) > n_gpus_) return false;
  least->group = grown;
  least->work = 0;
  for (const ItemIndex item : least->items) least->work += work(item, grown);
  return true;
}

void CpGroups::sort_side_by_side(std::vector<CpBlock>& blocks) const {
  std::ranges::stable_sort(blocks, std::greater{}, &CpBlock::group);
}

}  // namespace packsim
