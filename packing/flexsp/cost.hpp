#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "packing/pack_cost.hpp"

namespace packsim::flexsp {

/// FlexSP's cost model for groups of one SP degree: a group takes the sum of the times of its sequences, plus
/// a fixed time in every micro-batch.
struct SequenceCost {
  double fixed_s = 0;
  double token_s = 0;
  double squared_token_s = 0;
  CostCurve document_s = {};  ///< added to each sequence's time, by its length

  double sequence_s(std::int64_t length_tokens) const {
    return sequence_s(length_tokens, document_s.at(length_tokens));
  }
  /// The same where document_s at this length is known.
  double sequence_s(std::int64_t length_tokens, double document_at_s) const {
    const auto length = static_cast<double>(length_tokens);
    return (squared_token_s * length + token_s) * length + document_at_s;
  }
  /// Seconds that a whole group takes; 0 if it has no sequences.
  double group_s(std::span<const std::int32_t> lengths_tokens) const;
};

/// Bandwidth of the all-to-all among `gpus_per_pack` GPUs.
struct AllToAllRate {
  int gpus_per_pack = 2;
  double gb_per_s = 0;  ///< in units of 2^20 bytes a millisecond, as in the published code
};

/// The constants that FlexSP's code ships for one model on A100-40GB, in its own units.
struct PublishedModel {
  std::string_view name;
  double attention_ms = 0;  ///< a1: for each squared token
  double token_ms = 0;      ///< a2: for each token
  double fixed_ms = 0;      ///< b1: for each micro-batch
  int hidden_size = 0;
  int n_layers = 0;
};

/// Source: PKU-DAIR/Hetu-Galvatron, branch flexsp, galvatron/flexsp_solver/solver.py: optimizer_param_dict,
/// with the parameters for 4K sequences. The authors of the FlexSP paper (arXiv 2412.01523) measured them.
inline constexpr std::array<PublishedModel, 3> kPublishedModels = {{
    {"published_7b", 5.128e-6, 183.9576e-3, 629.3563, 4096, 32},
    {"published_13b", 9.2852e-6, 306.0189e-3, 1132.5632, 5120, 40},
    {"published_30b", 15.4262e-6, 803.5742e-3, 2789.3644, 6656, 60},
}};

/// All-to-all bandwidths by SP degree of the published runs ("4k seq, 2 IB": nodes with two InfiniBand
/// cards).
inline constexpr std::array<AllToAllRate, 6> kTwoIbRates = {
    {{2, 119.54}, {4, 104.07}, {8, 96.5}, {16, 10.33}, {32, 5.94}, {64, 4.87}}};

/// Time of the all-to-alls of queries, keys, values and outputs, forward and backward, at full width, in 16
/// bits and at the table's bandwidth. 0 on one GPU. Throws std::invalid_argument if the table lacks the
/// degree.
double published_all_to_all_ms(const PublishedModel& model, std::int64_t tokens, int gpus_per_pack,
                               std::span<const AllToAllRate> rates);

/// The published cost of groups of `gpus_per_pack` GPUs. Throws what published_all_to_all_ms() throws.
SequenceCost published_cost(const PublishedModel& model, int gpus_per_pack,
                            std::span<const AllToAllRate> rates = kTwoIbRates);

/// Converts our prices to FlexSP's form. That form has no curve over the tokens of a pack, so the curve is
/// replaced by the straight line through its values at half the capacity and at the full capacity.
SequenceCost profile_cost(const PackCost& cost, std::int64_t capacity_tokens);

}  // namespace packsim::flexsp
