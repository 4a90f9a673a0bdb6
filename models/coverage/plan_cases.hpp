#pragma once

#include <functional>
#include <span>
#include <string>

#include "models/coverage/measurement_list.hpp"

namespace packsim {

/// Takes a case with its level and section; see PlannedCase.
using AddCase = std::function<void(int level, const std::string& section, const KernelCase& kernel)>;

// What measurement_plan() is put together from; one call for each family of kernels. models: smallest first.

void plan_launch_gap(const AddCase& add);
void plan_gemms(std::span<const Transformer> models, const AddCase& add);
void plan_attention(std::span<const Transformer> models, std::span<const LengthSet> length_sets,
                    const AddCase& add);
void plan_elementwise(std::span<const Transformer> models, const AddCase& add);
void plan_copies(const AddCase& add);
void plan_adamw(const AddCase& add);
void plan_collectives(std::span<const Transformer> models, int n_gpus, int gpus_per_node, const AddCase& add);

}  // namespace packsim
