#pragma once

#include <array>
#include <string_view>

#include "models/styles/launches.hpp"
#include "packing/policies/policies.hpp"

namespace packsim {

/// How a stack computes the routed experts of a layer: their products, activations and the copies that sort
/// tokens count as such, and here is what comes beside them.
struct ExpertStyle {
  std::string_view name;
  std::string_view text;
  /// Whether one launch multiplies for all experts of a GPU; otherwise each expert has its own.
  bool is_grouped = false;
  Launches layer = {};  ///< in each layer with experts
  Launches each = {};   ///< in each of them, for every expert on the GPU
  /// Bytes moved in a layer for each value of a token that is sent to an expert, beside the copies there and
  /// back.
  double forward_bytes = 0;
  double backward_bytes = 0;
  /// Bytes moved backward for every expert on the GPU, for each value of the GPU's tokens.
  double backward_bytes_each = 0;

  bool operator==(const ExpertStyle&) const = default;
};

/// Nothing is known of what comes beside, and the factor of a framework profile makes up for it.
inline constexpr ExpertStyle kSeparateExperts = {
    .name = "separate", .text = "a product for each expert, and nothing beside them that is known"};
/// torch._grouped_mm, gate and up in one product: transformers from 5.0 on. Launches are those of
/// transformers 5.23.0 under PyTorch's dispatcher (2.13.0), the means of Qwen3-MoE and Mixtral, which choose
/// in different ways. Bytes follow from the same list of operations, without the two copies that count as
/// such: rows are weighed (4) and summed up (2); backward they are spread (2), put back in order into zeros
/// (4), and give the gradients of weight and row (10, and 2 for a sum), which are added up by token (2).
inline constexpr ExpertStyle kGroupedExperts = {.name = "grouped",
                                                .text =
                                                    "one product for all experts of a GPU "
                                                    "(torch._grouped_mm; transformers from 5.0 on)",
                                                .is_grouped = true,
                                                .layer = {.forward = 13, .backward = 18},
                                                .forward_bytes = 6,
                                                .backward_bytes = 20};
/// A loop in Python over the experts that have tokens, as in the modelling code of transformers before 5.0,
/// counted in the same way with transformers 4.57.1. For each expert, beside three products and the
/// activation, the host reads which expert it is and which tokens it has. Rows are weighed (4) and added to
/// the others (2 beside the copy); backward they give the gradients of weight and row (10, and 2 for a sum)
/// and are added to those of the tokens (2). Each expert makes a gradient of all tokens, which is cleared (2)
/// and added to the others' (6).
inline constexpr ExpertStyle kLoopedExperts = {
    .name = "loop",
    .text = "a loop over the experts, in which the host reads who has which tokens (transformers before 5.0)",
    .layer = {.forward = 12, .backward = 8},
    .each = {.forward = 7, .backward = 11, .waits = 1},
    .forward_bytes = 6,
    .backward_bytes = 14,
    .backward_bytes_each = 8};

/// All styles. The first is that of a plan of which nothing is said.
inline constexpr std::array<PolicyName<const ExpertStyle*>, 3> kExpertStyles = {{
    {&kSeparateExperts, kSeparateExperts.name, kSeparateExperts.text},
    {&kGroupedExperts, kGroupedExperts.name, kGroupedExperts.text},
    {&kLoopedExperts, kLoopedExperts.name, kLoopedExperts.text},
}};

}  // namespace packsim
