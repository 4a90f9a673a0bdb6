#pragma once

#include <functional>
#include <span>
#include <string>

#include "models/coverage/measurement_list.hpp"

namespace packsim {

/// Takes a case with its level and section; see ListedCase.
using AddCase = std::function<void(int level, const std::string& section, const KernelCase& kernel)>;

// The parts of measurement_list(), one for each family of kernels. models: smallest first.

void list_launch_gap(const AddCase& add);
void list_gemms(std::span<const Transformer> models, const AddCase& add);
void list_attention(std::span<const Transformer> models, std::span<const LengthSet> length_sets,
                    const AddCase& add);
void list_elementwise(std::span<const Transformer> models, const AddCase& add);
void list_copies(const AddCase& add);
void list_adamw(const AddCase& add);
void list_collectives(std::span<const Transformer> models, int n_gpus, int gpus_per_node, const AddCase& add);

}  // namespace packsim
