#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packing/batch_problem.hpp"

namespace packsim {

/// What makes a global batch of an online strategy full: so many samples, or, where these are not given, so
/// many tokens.
struct BatchSize {
  std::int64_t tokens = 0;
  std::optional<std::int64_t> n_samples = {};
};

/// Global batches of an online strategy, which sees no further: the items in packing_order(), cut where the
/// next one would go over the size. An item that is over its tokens alone is a batch of its own.
std::vector<std::vector<ItemIndex>> global_batches(const BatchProblem& problem, const BatchSize& size);

/// Batches have the size that the options say: samples_per_iteration, batch_tokens, else the setting's
/// tokens_per_iteration.
std::vector<std::vector<ItemIndex>> global_batches(const BatchProblem& problem);

}  // namespace packsim
