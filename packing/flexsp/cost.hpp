#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "packing/pack_cost.hpp"

namespace packsim::flexsp {

/// What groups of one SP degree take, as FlexSP sees it: seconds of every sequence that add up, and a fixed
/// part of every micro-batch.
struct SequenceCost {
  double fixed_s = 0;
  double token_s = 0;
  double squared_token_s = 0;
  CostCurve document_s = {};  ///< on top

  double sequence_s(std::int64_t length_tokens) const {
    const auto length = static_cast<double>(length_tokens);
    return (squared_token_s * length + token_s) * length + document_s.at(length_tokens);
  }
  /// Of a whole group. Without sequences it has nothing to run: 0.
  double group_s(std::span<const std::int32_t> lengths_tokens) const;
};

/// Bandwidth of the all-to-all among `gpus_per_pack` GPUs.
struct AllToAllRate {
  int gpus_per_pack = 2;
  double gb_per_s = 0;  ///< 2^20 bytes a millisecond, as the published code reckons
};

/// The constants that FlexSP's code ships for one model on A100-40GB, in its own units.
struct PublishedModel {
  std::string_view name;
  double attention_ms = 0;  ///< a1: of a squared token
  double token_ms = 0;      ///< a2
  double fixed_ms = 0;      ///< b1: of a micro-batch
  double token_mb = 0;      ///< activations of a token, in 2^20 bytes
  double billion_parameters = 0;
  int hidden_size = 0;
  int n_layers = 0;
};

/// Source: PKU-DAIR/Hetu-Galvatron, branch flexsp, galvatron/flexsp_solver/solver.py: optimizer_param_dict
/// (parameters: those of 4K sequences), which the FlexSP paper (arXiv 2412.01523) measured.
inline constexpr std::array<PublishedModel, 3> kPublishedModels = {{
    {"published_7b", 5.128e-6, 183.9576e-3, 629.3563, 4.480441895, 6.51, 4096, 32},
    {"published_13b", 9.2852e-6, 306.0189e-3, 1132.5632, 4.220439453, 12.3568, 5120, 40},
    {"published_30b", 15.4262e-6, 803.5742e-3, 2789.3644, 3.417381836, 30.538, 6656, 60},
}};

/// The table that the published runs use ("4k seq, 2 IB"), and one with four InfiniBand cards a node.
inline constexpr std::array<AllToAllRate, 6> kTwoIbRates = {
    {{2, 119.54}, {4, 104.07}, {8, 96.5}, {16, 10.33}, {32, 5.94}, {64, 4.87}}};
inline constexpr std::array<AllToAllRate, 6> kFourIbRates = {
    {{2, 119.54}, {4, 104.07}, {8, 96.5}, {16, 20.01}, {32, 10.53}, {64, 7.77}}};

/// (a1 s^2 + a2 s) / d summed over a group, and b1 once.
double published_compute_ms(const PublishedModel& model, std::span<const std::int32_t> lengths_tokens,
                            int gpus_per_pack);

/// Queries, keys, values and outputs, forward and backward, at full width in 16 bits, over the table's rate;
/// nothing for one GPU. Throws std::invalid_argument where the table lacks the degree.
double published_all_to_all_ms(const PublishedModel& model, std::int64_t tokens, int gpus_per_pack,
                               std::span<const AllToAllRate> rates);

/// Model states under ZeRO-3 with Adam (16 bytes a parameter over all GPUs) and activations of one GPU, in
/// 2^20 bytes.
double published_memory_mb(const PublishedModel& model, std::int64_t tokens, int gpus_per_pack, int n_gpus);

/// The published cost of groups of `gpus_per_pack` GPUs. Throws as published_all_to_all_ms().
SequenceCost published_cost(const PublishedModel& model, int gpus_per_pack,
                            std::span<const AllToAllRate> rates = kTwoIbRates);

/// Our own prices in FlexSP's form, which has no room for a curve over all tokens of a pack: a straight line
/// through the curve's points at half the capacity and at the whole of it stands for it.
SequenceCost profile_cost(const PackCost& cost, std::int64_t capacity_tokens);

}  // namespace packsim::flexsp
