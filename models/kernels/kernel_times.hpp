#pragma once

#include <optional>
#include <string>

#include "models/kernels/curve_time.hpp"
#include "models/kernels/gemm_shapes.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/value_bytes.hpp"

namespace packsim {

// What kernel_time() is made of: one function for each kernel whose shapes are more than a size. Each gives
// nothing where the profile has nothing that could stand in.

std::optional<KernelTime> gemm_time(const HardwareProfile& profile, const KernelCase& kernel,
                                    GemmShapes& shapes);
std::optional<KernelTime> attention_time(const HardwareProfile& profile, const KernelCase& kernel);
std::optional<KernelTime> collective_time(const HardwareProfile& profile, const KernelCase& kernel);
std::optional<KernelTime> overlap_time(const HardwareProfile& profile, const KernelCase& kernel);

/// The time of a curve, with the text that says what it rests on.
KernelTime with_basis(const CurveTime& time, const std::string& basis);

// The models behind the curves, as the fit and the estimates share them.

/// launch_s + (compute^3 + memory^3)^(1/3): the larger of the two, the corner rounded as the measured one is.
/// compute: s_per_flop for each flop and s_per_output for each element of the product, which fills and drains
/// the pipeline along k. memory: every operand once.
struct GemmNumbers {
  double launch_s = 0;
  double s_per_flop = 0;
  double s_per_output = 0;
  double s_per_byte = 0;
};
/// operand_bytes: of each element of the two operands. The result is in bf16.
double gemm_model_s(const GemmNumbers& numbers, double m, double n, double k,
                    double operand_bytes = kBf16Bytes);
GemmNumbers gemm_numbers(const KernelModel& model);
/// What a profile says of a shape without its own curve.
double gemm_shape_s(const HardwareProfile& profile, const KernelModel& model, const KernelCase& kernel);

/// Attention of one document, all heads, on a full GPU, without launch.
struct AttentionWork {
  double s_per_pair = 0;      ///< a head and squared token
  double s_per_token = 0;     ///< a head and token
  double s_per_document = 0;  ///< a head and document
  double s_per_kv_token = 0;  ///< a key-value head and token
  double document_s(double length_tokens, double heads, double kv_heads) const;
};
AttentionWork attention_work(const KernelModel& model);
/// What a profile says of a pack without the curve of its heads.
KernelTime attention_heads_time(const HardwareProfile& profile, const KernelModel& model,
                                const KernelCase& kernel);
/// The time of all documents' work, but no less than what the longest document takes by itself, as its last
/// tile attends to all of it on one multiprocessor of the GPU. The 4-norm rounds the corner between the two
/// as measurements do.
double attention_pack_s(double launch_s, double longest_s, double work_s);

/// fixed_s + gpus x gpu_s + payload that a GPU sends / bytes_per_s.
double collective_model_s(double fixed_s, double gpu_s, double bytes_per_s, std::string_view op, double gpus,
                          double bytes);
double collective_model_s(const KernelModel& model, std::string_view op, double gpus, double bytes);
/// Seconds that the parts of a gather or reduce-scatter take to go round a ring of all GPUs, beside what
/// their bytes take: each passes every GPU, over NVLink inside nodes and over the network between them. 0 for
/// the other collectives, whose parts take shorter ways.
double ring_latency_s(std::string_view op, double gpus, double nodes);
/// Bytes that a GPU sends for each byte of payload, as nccl-tests counts them: bus over algorithm bandwidth.
double sent_per_payload_byte(std::string_view op, double gpus);

}  // namespace packsim
