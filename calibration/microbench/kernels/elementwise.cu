#include <cuda_bf16.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/microbench/kernels/device.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/sampler.hpp"

namespace packsim::microbench {
namespace {

using Bf16 = __nv_bfloat16;

constexpr std::int64_t kBf16_bytes = 2;
constexpr std::int64_t kFp32_bytes = 4;
// LLaMA 3's vocabulary: rows of the table that the tokens are drawn from, evenly.
constexpr std::int64_t kVocabulary = 128256;

// A case's operands, and what it queues for a call.
struct Parts {
  std::shared_ptr<Operands> operands;
  std::function<void(std::int64_t)> launch;
  std::map<std::string, std::string> details = {};
};

struct Case {
  Device& device;
  Shape shape;
  bool is_backward;
  bool is_cold;

  std::int64_t bf16_bytes() const { return shape.size() * kBf16_bytes; }
  std::shared_ptr<Operands> operands(const std::vector<std::int64_t>& sizes_bytes) const {
    return std::make_shared<Operands>(device, sizes_bytes, is_cold);
  }
};

Parts rms_norm(const Case& c) {
  const Shape shape = c.shape;
  const cudaStream_t stream = c.device.stream();
  const int n_multiprocessors = c.device.properties().multiProcessorCount;
  const std::int64_t row_bytes = shape.cols * kBf16_bytes;
  if (!c.is_backward) {
    enum { x, weight, y, scale };
    const auto o = c.operands({c.bf16_bytes(), row_bytes, c.bf16_bytes(), shape.rows * kFp32_bytes});
    o->fill_bf16(x, 1, stream);
    o->fill_bf16(weight, 1, stream);
    return {o, [=](std::int64_t i) {
              rms_norm_forward(shape, o->get<Bf16>(i, x), o->get<Bf16>(i, weight), o->get<Bf16>(i, y),
                               o->get<float>(i, scale), stream);
            }};
  }
  enum { x, weight, scale, y_gradient, x_gradient, weight_gradient, partial };
  // Only what is touched counts for a cold cache: a block has at least one row.
  const std::int64_t partial_rows = std::min(shape.rows, rms_norm_partial_rows(n_multiprocessors));
  const auto o =
      c.operands({c.bf16_bytes(), row_bytes, shape.rows * kFp32_bytes, c.bf16_bytes(), c.bf16_bytes(),
                  shape.cols * kFp32_bytes, partial_rows * shape.cols * kFp32_bytes});
  for (const int operand : {x, weight, y_gradient}) o->fill_bf16(operand, 1, stream);
  o->fill_fp32(scale, 2, true, stream);
  return {o, [=](std::int64_t i) {
            rms_norm_backward(shape, o->get<Bf16>(i, x), o->get<Bf16>(i, weight), o->get<float>(i, scale),
                              o->get<Bf16>(i, y_gradient), o->get<Bf16>(i, x_gradient),
                              o->get<float>(i, weight_gradient), o->get<float>(i, partial), n_multiprocessors,
                              stream);
          }};
}

Parts swiglu(const Case& c) {
  const Shape shape = c.shape;
  const cudaStream_t stream = c.device.stream();
  const std::int64_t size_bytes = c.bf16_bytes();
  enum { gate, up, y, gate_gradient, up_gradient };  // y: its gradient, backward
  const auto o = c.is_backward ? c.operands({size_bytes, size_bytes, size_bytes, size_bytes, size_bytes})
                               : c.operands({size_bytes, size_bytes, size_bytes});
  for (const int operand : {gate, up, y}) o->fill_bf16(operand, 2, stream);
  if (!c.is_backward) {
    return {o, [=](std::int64_t i) {
              swiglu_forward(shape, o->get<Bf16>(i, gate), o->get<Bf16>(i, up), o->get<Bf16>(i, y), stream);
            }};
  }
  return {o, [=](std::int64_t i) {
            swiglu_backward(shape, o->get<Bf16>(i, gate), o->get<Bf16>(i, up), o->get<Bf16>(i, y),
                            o->get<Bf16>(i, gate_gradient), o->get<Bf16>(i, up_gradient), stream);
          }};
}

Parts residual(const Case& c) {
  const Shape shape = c.shape;
  const cudaStream_t stream = c.device.stream();
  enum { a, b, y };
  const auto o = c.operands({c.bf16_bytes(), c.bf16_bytes(), c.bf16_bytes()});
  for (const int operand : {a, b}) o->fill_bf16(operand, 1, stream);
  return {o, [=](std::int64_t i) {
            residual_add(shape, o->get<Bf16>(i, a), o->get<Bf16>(i, b), o->get<Bf16>(i, y), stream);
          }};
}

Parts rotation(const Case& c) {
  const Shape shape = c.shape;
  const cudaStream_t stream = c.device.stream();
  const std::int64_t head_dim = rope_head_dim(shape.cols);
  const std::int64_t angle_bytes = shape.rows * head_dim / 2 * kBf16_bytes;
  const float direction = c.is_backward ? -1.0f : 1.0f;
  enum { x, cosines, sines, y };
  const auto o = c.operands({c.bf16_bytes(), angle_bytes, angle_bytes, c.bf16_bytes()});
  for (const int operand : {x, cosines, sines}) o->fill_bf16(operand, 1, stream);
  return {o,
          [=](std::int64_t i) {
            rope(shape, o->get<Bf16>(i, x), o->get<Bf16>(i, cosines), o->get<Bf16>(i, sines),
                 o->get<Bf16>(i, y), direction, stream);
          },
          {{"head_dim", std::to_string(head_dim)}}};
}

Parts cross_entropy(const Case& c) {
  const Shape shape = c.shape;
  const cudaStream_t stream = c.device.stream();
  const std::int64_t row_bytes = shape.rows * kFp32_bytes;
  if (shape.cols > 2147483647) throw Unavailable("cross_entropy: more columns than 2147483647");
  enum { logits, targets, losses, log_sums, gradient };
  const auto o = c.is_backward ? c.operands({c.bf16_bytes(), row_bytes, row_bytes, row_bytes, c.bf16_bytes()})
                               : c.operands({c.bf16_bytes(), row_bytes, row_bytes, row_bytes});
  o->fill_bf16(logits, 8, stream);
  o->fill_int32(targets, static_cast<std::int32_t>(shape.cols), stream);
  const auto forward = [=](std::int64_t i) {
    cross_entropy_forward(shape, o->get<Bf16>(i, logits), o->get<std::int32_t>(i, targets),
                          o->get<float>(i, losses), o->get<float>(i, log_sums), stream);
  };
  if (!c.is_backward) return {o, forward};
  for (std::int64_t copy = 0; copy < o->n_copies(); ++copy) forward(copy);
  const float scale = 1.0f / static_cast<float>(shape.rows);
  return {o, [=](std::int64_t i) {
            cross_entropy_backward(shape, o->get<Bf16>(i, logits), o->get<std::int32_t>(i, targets),
                                   o->get<float>(i, log_sums), scale, o->get<Bf16>(i, gradient), stream);
          }};
}

Parts embedding(const Case& c) {
  const Shape shape = c.shape;
  const cudaStream_t stream = c.device.stream();
  enum { tokens, values };
  const auto o = c.operands({shape.rows * kFp32_bytes, c.bf16_bytes()});
  // One table for all copies: every copy has other tokens.
  const auto table = std::make_shared<Buffer>(kVocabulary * shape.cols * kBf16_bytes);
  fill_random_bf16(table->bytes(), table->size_bytes(), 1, 99, stream);
  o->fill_int32(tokens, static_cast<std::int32_t>(kVocabulary), stream);
  o->fill_bf16(values, 1e-3f, stream);
  const bool is_backward = c.is_backward;
  return {o,
          [=](std::int64_t i) {
            if (is_backward) {
              embedding_backward(shape, o->get<std::int32_t>(i, tokens), o->get<Bf16>(i, values),
                                 table->as<Bf16>(), stream);
            } else {
              embedding_forward(shape, o->get<std::int32_t>(i, tokens), table->as<Bf16>(),
                                o->get<Bf16>(i, values), stream);
            }
          },
          {{"vocabulary", std::to_string(kVocabulary)}}};
}

struct Operation {
  std::string_view name;
  Parts (*prepare)(const Case&);
};

constexpr Operation kOperations[] = {
    {"rms_norm", rms_norm},
    {"swiglu", swiglu},
    {"rope", rotation},
    {"residual_add", residual},
    {"cross_entropy", cross_entropy},
    {"embedding", embedding},
};

}  // namespace

Prepared prepare_elementwise(const KernelCase& kernel, Device& device) {
  const Case c{device,
               {kernel.integer("rows"), kernel.integer("cols")},
               kernel.value("pass") == "bwd",
               kernel.value("cache") == "cold"};
  // So that no size overflows; four such arrays are more than any GPU holds.
  if (c.shape.rows > 2147483647 || c.shape.cols > (std::int64_t{1} << 40) / c.shape.rows)
    throw Unavailable("larger than any GPU's memory");
  for (const Operation& operation : kOperations) {
    if (operation.name != kernel.value("op")) continue;
    Parts parts = operation.prepare(c);
    parts.details["copies"] = std::to_string(parts.operands->n_copies());
    return timed_by_sampler(device, "packsim", std::move(parts.launch), parts.operands,
                            std::move(parts.details));
  }
  throw Unavailable("this program has no kernel for op=" + kernel.value("op"));
}

}  // namespace packsim::microbench
