#pragma once

#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "models/step/step_pricer.hpp"

namespace packsim {

/// Attention times of the packs of one data set. All pricers that give the same times share them: those of
/// clusters with other links or numbers of nodes, and of other ZeRO stages. Threads may share it; each is
/// computed once.
class PackAttentions {
 public:
  using OfGroups = std::vector<std::vector<StepPricer::PackAttention>>;  ///< [n_groups][n_packs]

  /// bases: [n_groups].
  std::shared_ptr<const OfGroups> of(const std::vector<StepPricer::AttentionBasis>& bases,
                                     const std::function<OfGroups()>& make);

 private:
  static constexpr std::size_t kMost = 8;  // the oldest are forgotten
  struct Known {
    std::vector<StepPricer::AttentionBasis> bases;
    std::shared_future<std::shared_ptr<const OfGroups>> times;
  };
  std::mutex mutex_;
  std::list<Known> known_;
};

}  // namespace packsim
