#pragma once

#include <array>

#include "models/styles/compiled.hpp"
#include "models/styles/eager.hpp"
#include "models/styles/fused.hpp"
#include "models/styles/liger.hpp"
#include "models/styles/mixed.hpp"
#include "models/styles/transformer_engine.hpp"
#include "packing/policies/policies.hpp"

namespace packsim {

/// All styles. The first is that of a plan of which nothing is said.
inline constexpr std::array<PolicyName<const KernelStyle*>, 6> kKernelStyles = {{
    {&kMixedKernels, kMixedKernels.name, kMixedKernels.text},
    {&kEagerKernels, kEagerKernels.name, kEagerKernels.text},
    {&kLigerKernels, kLigerKernels.name, kLigerKernels.text},
    {&kCompiledKernels, kCompiledKernels.name, kCompiledKernels.text},
    {&kTransformerEngineKernels, kTransformerEngineKernels.name, kTransformerEngineKernels.text},
    {&kFusedKernels, kFusedKernels.name, kFusedKernels.text},
}};

}  // namespace packsim
