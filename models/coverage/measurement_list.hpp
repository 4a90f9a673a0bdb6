#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/kernels/kernel_case.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// quick: under three minutes on one GPU, enough to price a step. full: under fifteen, which adds sizes in
/// between, tensor-parallel shapes, hot caches and more head shapes, so that fewer kernels are interpolated.
enum class MeasurementListSize { quick, full };

/// Real document lengths, in the order of their file, that packs are drawn from.
struct LengthSet {
  std::string name;
  std::vector<std::int32_t> lengths_tokens;
};

struct MeasurementListOptions {
  MeasurementListSize size = MeasurementListSize::full;
  int n_gpus = 1;  ///< collectives run among up to this many GPUs; none for one GPU
  int gpus_per_node = 8;
  double gpu_memory_bytes = 80e9;  ///< cases that need more than 0.6 of it are left out
  std::vector<LengthSet> length_sets;
};

struct ListedCase {
  KernelCase kernel;
  std::string section;     ///< "gemm: q, k, v, o, gate, up, down of the models"
  int level = 1;           ///< 1 is the most useful; quick has 1 and 2
  double estimated_s = 0;  ///< rough_measuring_s()
};

struct MeasurementList {
  std::vector<ListedCase> cases;  ///< the most useful first; each once
  double one_gpu_s = 0;           ///< estimate for what one GPU can measure
  double collectives_s = 0;       ///< for the rest
  std::int64_t over_budget = 0;   ///< cases left out, as there was no time left or one alone takes too much
  std::int64_t over_memory = 0;   ///< cases left out, as they would not fit
};

/// What a machine should measure for steps of these models:
///  - every matrix product of a layer and of the head, forward and both backward products, over tokens a GPU;
///    SP degrees change the tokens, TP degrees 2, 4 and 8 the widths, EP degrees 1 and 8 (or what of it
///    divides the experts) the tokens of an expert
///  - attention, both passes, over document length x number of documents x heads a GPU has under each SP
///    degree, and packs drawn from the length sets
///  - elementwise kernels over rows; copies; AdamW; the launch gap
///  - collectives of every power-of-two group size up to n_gpus, on as few nodes as possible and one a
///    node, 1 KiB to 1 GiB; all-to-alls of uneven splits, and of tokens to their experts; matrix
///    products beside a collective
///
/// Smaller models come first. Deterministic.
/// Throws std::invalid_argument without a model, or for counts below 1.
MeasurementList measurement_list(std::span<const Transformer> models, const MeasurementListOptions& options);

/// The file that the microbenchmark reads: the header as comments, then the cases, with a comment at the
/// start of each section.
std::string measurement_list_text(const MeasurementList& plan, const std::string& header);
/// The same for a list of cases.
std::string measurement_list_text(std::span<const KernelCase> cases, const std::string& header);

/// A pack of at most `capacity_tokens` from a set: samples in order from position `fraction` (0..1) of the
/// set, those that still fit, until it is full or a thousand samples have been tried. Empty where none fits.
Documents drawn_pack(const LengthSet& set, std::int64_t capacity_tokens, double fraction);

}  // namespace packsim
