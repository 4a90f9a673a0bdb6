#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/kernels/kernel_case.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Size of a measurement list. quick: takes under three minutes on one GPU and is enough to price a step.
/// full: takes under twenty-five minutes. It adds sizes in between, tensor-parallel shapes, hot caches and
/// more head shapes, so that fewer kernels are interpolated.
enum class MeasurementListSize { quick, full };

/// Real document lengths from which packs are drawn, in the order of their file.
struct LengthSet {
  std::string name;
  std::vector<std::int32_t> lengths_tokens;
};

struct MeasurementListOptions {
  MeasurementListSize size = MeasurementListSize::full;
  /// Collectives use up to this many GPUs; with one GPU there are none.
  int n_gpus = 1;
  int gpus_per_node = 8;
  double gpu_memory_bytes = 80e9;  ///< cases that need more than 0.6 of it are left out
  std::vector<LengthSet> length_sets;
};

struct ListedCase {
  KernelCase kernel;
  std::string section;  ///< "gemm: q, k, v, o, gate, up, down of the models"
  int level = 1;        ///< 1 is the most useful; quick lists have levels 1 and 2
  int round = 0;        ///< in its level; 0: an end of its curve, 1: the other, 2: the middle, then between
  double estimated_s = 0;  ///< rough_measuring_s()
};

struct MeasurementList {
  std::vector<ListedCase> cases;  ///< as order_by_value() has them, each case once
  double one_gpu_s = 0;           ///< estimated time of the cases that one GPU can measure
  double collectives_s = 0;       ///< estimated time of all others
  /// Cases left out because no time was left or one alone takes too long.
  std::int64_t over_budget = 0;
  std::int64_t over_memory = 0;  ///< cases left out because they would not fit in memory
};

/// Makes the list of what a machine should measure to price steps of these models:
///  - every matrix product of a layer and of the head, forward and both backward products, for several
///    numbers of tokens on a GPU; SP degrees change the tokens, TP degrees 2, 4 and 8 the widths, and EP
///    degrees 1 and 8 (or what of it divides the experts) the tokens of an expert
///  - attention, both passes, for several document lengths, numbers of documents, and numbers of heads that a
///    GPU has under each SP degree, and for packs drawn from the length sets
///  - elementwise kernels for several numbers of rows; copies; AdamW; the launch gap
///  - collectives of every power-of-two group size up to n_gpus, on as few nodes as possible and with one GPU
///    on each node, from 1 KiB to 1 GiB; all-to-alls with uneven splits, and of tokens to their experts;
///    matrix products beside a collective
///
/// Cases of smaller models come first. The list is deterministic. Throws std::invalid_argument without a
/// model, or for counts below 1.
MeasurementList measurement_list(std::span<const Transformer> models, const MeasurementListOptions& options);

/// The text of the file that the microbenchmark reads: the header as comments, then the cases, with a comment
/// at the start of each section and round.
std::string measurement_list_text(const MeasurementList& plan, const std::string& header);
/// The same for a list of cases.
std::string measurement_list_text(std::span<const KernelCase> cases, const std::string& header);

/// Draws a pack of at most `capacity_tokens` from a set. It starts at position `fraction` (0..1) of the set
/// and takes, in order, each sample that still fits, until the pack is full or a thousand samples have been
/// tried. Empty if no sample fits.
Documents drawn_pack(const LengthSet& set, std::int64_t capacity_tokens, double fraction);

}  // namespace packsim
