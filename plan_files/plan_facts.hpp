#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "packing/pack.hpp"
#include "packing/policies/policies.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

/// What a plan says of itself beside its tables: a JSON text in the file, whose keys are these names.
struct PlanFacts {
  std::string version;       ///< of the packsim that made it
  std::string name;          ///< of the strategy where it was made, such as hbp-32k
  std::string strategy;      ///< of the strategy table
  std::string scenario;      ///< where it was made from one: its name
  std::string normaliser;    ///< of the weights
  std::string lengths_hash;  ///< of the data set, see hash_of_lengths()
  std::uint32_t seed = 0;
  bool shuffle = true;  ///< the strategy took samples in shuffled order
  int n_gpus = 1;       ///< that packs are placed on; tensor-parallel groups and pipelines count as one
  int tp_degree = 1;
  int pp_degree = 1;
  int ep_degree = 1;
  int zero_stage = 0;
  int virtual_stages = 0;     ///< of the pipeline; 0: not said, as the next ones in first files
  std::string checkpointing;  ///< what a checkpointed layer recomputes, as in a scenario; empty: not said
  std::string offload;        ///< what is in host memory, words joined by " + "; empty: not said
  std::string precision;      ///< of matrix products; empty: not said
  std::string cp_exchange;    ///< how GPUs get each other's keys and values; empty: not said
  int shard_degree = -1;      ///< of ZeRO, 0: all GPUs with the same weights; -1: not said
  int mlp_tiles = 0;          ///< 0: not said
  int loss_tiles = 0;
  int epochs = 1;
  std::int64_t tokens_per_iteration = 0;  ///< that was asked for; 0: none
  OverLong over_long = OverLong::error;
  Empty empty = Empty::drop;
  Padding padding = Padding::none;
  std::int64_t pad_multiple_tokens = 1;
  PackOrder order = PackOrder::shuffled;
  LastIteration last_iteration = LastIteration::repeat;
  PackCounts counts;
  /// The schedule drops these, over all epochs.
  std::int64_t dropped_packs = 0;
  std::int64_t dropped_pack_tokens = 0;
  std::int64_t repeated_packs = 0;
  std::int64_t repeated_tokens = 0;
  std::int64_t curriculum_iterations = 0;

  bool operator==(const PlanFacts&) const = default;
};

std::string facts_to_json(const PlanFacts& facts);

/// Throws std::invalid_argument with every key that is missing, comes twice or cannot be. Keys that nobody
/// knows are left alone: a later version may have more.
PlanFacts facts_from_json(std::string_view text);

/// XXH3, 128 bits, of the lengths as int32, little-endian, in 32 hexadecimal digits: what xxh128sum prints
/// for them. [n_samples]
std::string hash_of_lengths(std::span<const std::int32_t> lengths_tokens);

/// The same of lengths that come in parts.
class HashOfLengths {
 public:
  HashOfLengths();
  void add(std::span<const std::int32_t> lengths_tokens);
  std::string text() const;

 private:
  struct State;  // of xxHash
  std::shared_ptr<State> state_;
};

}  // namespace packsim
