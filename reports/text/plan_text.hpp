#pragma once

#include <string>

#include "models/parallel_plan.hpp"
#include "packing/sequence_parallelism.hpp"

/// Parallel plans as people read them.
namespace packsim::formats_detail {

/// What all groups have in common: "TP 8 x PP 4 (2 virtual stages each), ZeRO 1, gradients in fp32, waited
/// for".
std::string plan_text(const ParallelPlan& plan);
/// "ZeRO 1", or under hybrid sharding "ZeRO 3 over 8 GPUs".
std::string zero_text(const ParallelPlan& plan);
/// How many GPUs share a sequence by Ulysses and by ring attention: "8", "2 x CP 4".
std::string sequence_text(const SequenceParallelism& sequence);

}  // namespace packsim::formats_detail
