#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "packing/loss/loss_tokens.hpp"

namespace packsim {

/// A pack in its iteration, for a normaliser.
struct LossPlace {
  LossCounts pack;
  LossCounts iteration;
  /// The pack's part of "the mean over GPUs of the mean over a GPU's packs": where all packs have one SP
  /// degree, one over ranks times micro-batches of a rank. They add up to 1 unless GPUs have no pack.
  double gpu_share = 0;
};

/// A rule for what the loss of a token is multiplied by. The loss of an iteration is the sum over all tokens
/// of all packs, on all GPUs, of weight times the token's loss (its negative log-likelihood).
struct Normaliser {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  /// True: the weight of a token is that of its pack divided by the loss tokens of its sample.
  bool per_sample = false;
  /// Returns the weight of a pack that has loss tokens.
  double (*pack_weight)(const LossPlace&) = nullptr;
};

/// Every normaliser; the first one is what a plan has where nothing else is asked for.
std::span<const Normaliser> normalisers();

/// The normaliser of that name, or null.
const Normaliser* find_normaliser(std::string_view name);

/// The same; throws std::invalid_argument that lists the names.
const Normaliser& known_normaliser(std::string_view name);

}  // namespace packsim
