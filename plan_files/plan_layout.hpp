#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "packing/sequence_parallelism.hpp"

namespace packsim {

// What a plan file consists of (docs/plan_files.md): a header, a table of sections, and the sections, each at
// a multiple of kSectionAlignment_bytes. All numbers are little-endian and as wide as they are here; bytes
// between sections are zero.
static_assert(std::endian::native == std::endian::little, "plan files are mapped as they are");

inline constexpr std::array<char, 8> kPlanMagic = {'P', 'K', 'S', 'M', 'P', 'L', 'A', 'N'};
/// Files of another version are refused. 2 comes when a reader of 1 would misread the file; new sections and
/// new keys of the facts are none.
inline constexpr std::uint32_t kPlanVersion = 1;
inline constexpr std::uint32_t kEndianMark = 0x01020304;
inline constexpr std::uint64_t kSectionAlignment_bytes = 64;

struct PlanHeader {
  std::array<char, 8> magic = kPlanMagic;
  std::uint32_t version = kPlanVersion;
  std::uint32_t endian_mark = kEndianMark;
  std::uint64_t file_bytes = 0;
  std::uint64_t n_sections = 0;
  /// XXH3, 64 bits, of all bytes behind the header.
  std::uint64_t content_hash = 0;
  std::array<std::uint64_t, 2> reserved = {};
  /// XXH3, 64 bits, of the header's bytes before this one.
  std::uint64_t header_hash = 0;
};
static_assert(sizeof(PlanHeader) == 64);

struct PlanSection {
  std::array<char, 32> name = {};  ///< filled up with zeros
  std::uint64_t offset_bytes = 0;  ///< from the beginning of the file
  std::uint64_t n_elements = 0;
  std::uint64_t element_bytes = 0;
  std::uint64_t reserved = 0;
};
static_assert(sizeof(PlanSection) == 64);

/// A packing group.
struct PlanGroup {
  std::int64_t capacity_tokens = 0;
  std::uint64_t first_pack = 0;  ///< of pack_offsets
  std::uint32_t n_packs = 0;
  std::uint32_t sp_degree = 1;  ///< of Ulysses
  std::uint32_t cp_degree = 1;  ///< of ring attention
  std::uint32_t gc_layers = 0;  ///< layers that are recomputed
  /// Counts the micro-batches of a rank in one iteration, where packs were dealt out evenly.
  std::uint32_t micro_batches_per_rank = 1;
  std::uint32_t reserved = 0;

  std::uint64_t gpus_per_pack() const { return std::uint64_t{sp_degree} * cp_degree; }
  SequenceParallelism sequence() const {
    return {.ulysses = static_cast<int>(sp_degree), .ring = static_cast<int>(cp_degree)};
  }
  bool operator==(const PlanGroup&) const = default;
};
static_assert(sizeof(PlanGroup) == 40);

/// A pack on the GPUs [first_gpu, first_gpu + gpus of its group).
struct PlanPlacedPack {
  static constexpr std::uint32_t kAfterBarrier = 1;

  std::uint32_t pack = 0;  ///< of its group
  std::uint32_t first_gpu = 0;
  std::uint16_t group = 0;
  std::uint16_t round = 0;
  std::uint32_t flags = 0;

  bool operator==(const PlanPlacedPack&) const = default;
};
static_assert(sizeof(PlanPlacedPack) == 16);

/// One optimizer step: the n_placed placed packs from first_placed on, rounds ascending.
struct PlanIteration {
  std::uint32_t first_placed = 0;
  std::uint32_t n_placed = 0;

  bool operator==(const PlanIteration&) const = default;
};
static_assert(sizeof(PlanIteration) == 8);

namespace plan_sections {
inline constexpr std::string_view kFacts = "facts";                 ///< char: JSON, see PlanFacts
inline constexpr std::string_view kLengths = "lengths_tokens";      ///< int32 [n_items]
inline constexpr std::string_view kPieceSamples = "piece_samples";  ///< uint32 [n_items], of cut samples
inline constexpr std::string_view kPieceStarts = "piece_starts";    ///< int32 [n_items], of cut samples
inline constexpr std::string_view kLossTokens = "loss_tokens";      ///< int32 [n_items], where given
inline constexpr std::string_view kGroups = "groups";               ///< PlanGroup [n_groups]
inline constexpr std::string_view kPackItems = "pack_items";        ///< uint32 [n_packed_items]
inline constexpr std::string_view kPackOffsets = "pack_offsets";    ///< uint64 [n_packs + 1]
inline constexpr std::string_view kPlaced = "placed";               ///< PlanPlacedPack [n_placed]
inline constexpr std::string_view kWeights = "weights";             ///< float64 [n_placed]
inline constexpr std::string_view kIterations = "iterations";       ///< PlanIteration [n_iterations]
}  // namespace plan_sections

}  // namespace packsim
