#include <algorithm>
#include <cmath>
#include <utility>

#include "packing/loss/normalisers.hpp"
#include "plan_files/checks/checks.hpp"

namespace packsim {
namespace {

// Weights are sums and quotients of as many numbers as an iteration has GPUs, of which there are at most
// 2^20: rounding changes them by less than 2^20 * 2^-52 = 2e-10.
constexpr double kRounding = 1e-9;

// What LossPlaces finds by counting GPU after GPU: the mean over a pack's GPUs of one over the packs that
// each has in the iteration, times the part of all GPUs that they are. Counts neighbouring GPUs together, as
// a file may say any number of GPUs.
class GpuShares {
 public:
  explicit GpuShares(const PlanTables& tables) : tables_(tables) {
    n_packs_.resize(static_cast<std::size_t>(tables.facts.n_gpus));
  }

  // [n packs of the iteration]
  std::span<const double> of(std::span<const PlanPlacedPack> packs) {
    shares_.resize(packs.size());
    const auto has_first_group = [&](const PlanPlacedPack& placed) {
      return placed.group == packs.front().group;
    };
    if (std::ranges::all_of(packs, has_first_group)) {
      count_ranks(packs);
    } else {
      count_edges(packs);
    }
    return shares_;
  }

 private:
  // Packs of as many GPUs each: those of one rank have the same.
  void count_ranks(std::span<const PlanPlacedPack> packs) {
    const auto gpus = static_cast<double>(tables_.groups[packs.front().group].gpus_per_pack());
    for (const PlanPlacedPack& placed : packs) ++n_packs_[placed.first_gpu];
    for (std::size_t i = 0; i < packs.size(); ++i)
      shares_[i] = gpus / n_packs_[packs[i].first_gpu] / tables_.facts.n_gpus;
    for (const PlanPlacedPack& placed : packs) n_packs_[placed.first_gpu] = 0;
  }

  // All GPUs between two edges of packs have the same packs. sums_ has, up to each edge, the sum over all
  // GPUs of one over the GPU's packs.
  void count_edges(std::span<const PlanPlacedPack> packs) {
    edges_.clear();
    for (const PlanPlacedPack& placed : packs) {
      edges_.emplace_back(placed.first_gpu, 1);
      edges_.emplace_back(end_of(placed), -1);
    }
    std::ranges::sort(edges_);
    sums_.assign(edges_.size(), 0);
    std::int64_t n_packs = edges_.front().second;
    for (std::size_t i = 1; i < edges_.size(); ++i) {
      const auto n_gpus = static_cast<double>(edges_[i].first - edges_[i - 1].first);
      sums_[i] = sums_[i - 1] + (n_packs > 0 ? n_gpus / static_cast<double>(n_packs) : 0);
      n_packs += edges_[i].second;
    }
    for (std::size_t i = 0; i < packs.size(); ++i)
      shares_[i] = (sum_until(end_of(packs[i])) - sum_until(packs[i].first_gpu)) / tables_.facts.n_gpus;
  }

  std::uint64_t end_of(const PlanPlacedPack& placed) const {
    return placed.first_gpu + tables_.groups[placed.group].gpus_per_pack();
  }
  double sum_until(std::uint64_t gpu) const {
    const auto edge = std::ranges::lower_bound(edges_, gpu, {}, &std::pair<std::uint64_t, int>::first);
    return sums_[static_cast<std::size_t>(edge - edges_.begin())];
  }

  const PlanTables& tables_;
  std::vector<std::uint32_t> n_packs_;  // [n_gpus] of the rank that begins there
  std::vector<std::pair<std::uint64_t, int>> edges_;
  std::vector<double> sums_;  // [n_edges]
  std::vector<double> shares_;
};

}  // namespace

void check_weights(const PlanTables& tables, std::span<const PackLoad> packs, Mistakes& mistakes) {
  const Normaliser* const normaliser = find_normaliser(tables.facts.normaliser);
  if (normaliser == nullptr) return;
  GpuShares shares(tables);
  std::vector<bool> is_checked(tables.placed.size());  // an iteration that begins there, as of another epoch
  for (const PlanIteration& iteration : tables.iterations) {
    if (is_checked[iteration.first_placed]) continue;
    is_checked[iteration.first_placed] = true;
    const auto placed = tables.packs(iteration);
    LossPlace place;
    for (const PlanPlacedPack& one : placed) place.iteration += packs[tables.pack_index(one)].losses;
    const auto gpu_shares = shares.of(placed);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      place.pack = packs[tables.pack_index(placed[i])].losses;
      place.gpu_share = gpu_shares[i];
      const double expected = place.pack.loss_tokens > 0 ? normaliser->pack_weight(place) : 0;
      const double weight = tables.weights[iteration.first_placed + i];
      if (std::abs(weight - expected) <= kRounding * expected) continue;
      return mistakes.add(
          "weights", iteration.first_placed + i,
          Mistakes::number_text(expected) + ", that of the normaliser " + tables.facts.normaliser, weight);
    }
  }
}

}  // namespace packsim
