#include "sim/step_ranks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "sim/check_schedule.hpp"
#include "sim/expert_meetings.hpp"

namespace packsim {
namespace {

void check_variability(std::span<const PricedGroup> groups, const Variability& variability) {
  int n_gpus = 0;
  for (const PricedGroup& group : groups) n_gpus = std::max(n_gpus, group.plan.plan.n_gpus);
  std::string all;
  for (const std::string& mistake : variability_mistakes(variability, n_gpus))
    all += (all.empty() ? "" : "; ") + mistake;
  if (!all.empty()) throw std::invalid_argument(all);
}

void set_work(std::span<const std::uint32_t> packs, const PricedGroup& group, std::size_t n_ranks,
              std::size_t rank, RankWork& work) {
  work.plan = &group.plan;
  work.first_gpu = static_cast<int>(rank) * group.plan.plan.sequence_gpus();
  work.micro_batches.clear();
  for (std::size_t i = rank; i < packs.size(); i += n_ranks)
    work.micro_batches.push_back(&group.packs[packs[i]]);
}

}  // namespace

StepRanks::StepRanks(const Schedule& schedule, std::span<const PricedGroup> groups,
                     const SimulationOptions& options)
    : schedule_(schedule),
      groups_(groups),
      merges_(options.topology == nullptr && options.merges_alike && !options.variability.any()) {
  std::vector<std::size_t> n_packs;
  for (const PricedGroup& group : groups) n_packs.push_back(group.packs.size());
  check_schedule(schedule, n_packs);
  check_variability(groups, options.variability);
  if (options.variability.any()) slow_down_.emplace(options.variability);
  if (!merges_) return;
  for (const PricedGroup& group : groups) classes_.push_back(price_classes(group.packs));
}

std::span<const RankWork> StepRanks::of(std::size_t iteration_index) {
  const Iteration& iteration = schedule_.iterations[iteration_index];
  const PricedGroup& group = groups_[iteration.group];
  const std::span<const std::uint32_t> packs = schedule_.packs(iteration);
  const auto n_ranks = static_cast<std::size_t>(schedule_.groups[iteration.group].n_dp_ranks);
  std::size_t block = merges_ ? ranks_of_experts(group.plan.plan) : n_ranks;
  if (n_ranks % block != 0) block = n_ranks;
  if (merges_) {
    find_alike(packs, classes_[iteration.group], n_ranks, block, alike_);
  } else {
    alike_.kinds.assign(1, {.first_block = 0, .n_blocks = 1});
  }
  const std::size_t n_works = alike_.kinds.size() * block;
  if (works_.size() < n_works) works_.resize(n_works);
  gpus_.clear();
  const double gpus = static_cast<double>(schedule_.n_gpus) /
                      static_cast<double>(n_ranks * static_cast<std::size_t>(group.plan.plan.pp_degree));
  for (const AlikeRanks::Kind& kind : alike_.kinds) {
    for (std::size_t r = 0; r < block; ++r) {
      RankWork& work = works_[gpus_.size()];
      set_work(packs, group, n_ranks, kind.first_block * block + r, work);
      if (slow_down_) slow_down_->set(iteration_index, work);
      gpus_.push_back(gpus * static_cast<double>(kind.n_blocks));
    }
  }
  return {works_.data(), n_works};
}

}  // namespace packsim
