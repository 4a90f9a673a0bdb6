#include "calibration/microbench/kernels/verify/verify.hpp"

#include <cuda_bf16.h>

#include <cmath>
#include <limits>

#include "calibration/microbench/kernels/attention.hpp"
#include "calibration/microbench/kernels/elementwise.hpp"
#include "calibration/microbench/kernels/gemm.hpp"
#include "calibration/microbench/kernels/optimizer.hpp"
#include "calibration/microbench/kernels/verify/formulas.hpp"
#include "calibration/microbench/kernels/verify/reference.hpp"

namespace packsim::microbench {
namespace {

using Bf16 = __nv_bfloat16;
using Doubles = std::vector<double>;

// A result of bf16 is off by 2^-9 of its size from rounding alone. Attention also rounds its probabilities
// and their gradients to bf16 on the way, and the sum of many roundings is larger.
constexpr double kBf16Limit = 5e-3;
constexpr double kAttentionLimit = 2e-2;
constexpr double kFp32Limit = 1e-4;

double largest_error(const Doubles& got, const Doubles& expected) {
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(got[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(got[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return difference / std::max(largest, 1e-30);
}

// Arrays of T on the GPU, in and out.
template <typename T>
struct Array {
  Buffer buffer;
  std::size_t n;
  cudaStream_t stream;

  T* data() const { return buffer.as<T>(); }
  std::vector<T> raw() const {
    std::vector<T> values(n);
    check_cuda(cudaMemcpyAsync(values.data(), data(), n * sizeof(T), cudaMemcpyDeviceToHost, stream),
               "copy to the host");
    check_cuda(cudaStreamSynchronize(stream), "run a kernel");
    return values;
  }
  Doubles values() const {
    Doubles doubles;
    for (const T value : raw()) doubles.push_back(static_cast<double>(static_cast<float>(value)));
    return doubles;
  }
};

class Verifier {
 public:
  Verifier(Device& device, const std::function<void(const Check&)>& report)
      : device_(device), stream_(device.stream()), report_(report) {}

  void run() {
    for (const char* layout : {"tn", "nn", "nt"})
      guarded(std::string("gemm ") + layout, [&] { gemm(layout); });
    guarded("gemm nt into fp32", [&] { gemm_into_fp32(); });
    guarded("attention", [&] { attention({parse_documents("2x17+1x130+3x1"), 4, 2, 64}); });
    guarded("attention", [&] { attention({parse_documents("2x17+1x130+3x1"), 7, 1, 128}); });
    for (const std::int64_t cols : {256, 250}) {
      guarded("rms_norm", [&] { rms_norm({37, cols}); });
      guarded("swiglu", [&] { pointwise({37, cols}); });
      guarded("cross_entropy", [&] { cross_entropy({37, 4 * cols}); });
      guarded("embedding", [&] { embedding({37, cols}); });
    }
    // Longer rows take other kernels: more pieces a thread, more threads a block.
    for (const std::int64_t cols : {4096, 8192, 16384}) guarded("rms_norm", [&] { rms_norm({37, cols}); });
    guarded("rope", [&] { turn({37, 256}); });
    guarded("adamw", [&] { optimizer(1003); });
  }

 private:
  template <typename T>
  Array<T> poisoned(std::int64_t n) const {
    Array<T> array{Buffer(n * static_cast<std::int64_t>(sizeof(T))), static_cast<std::size_t>(n), stream_};
    // All bits set is not a number in bf16 and fp32.
    check_cuda(cudaMemsetAsync(array.data(), 0xFF, array.n * sizeof(T), stream_), "fill with not-a-number");
    return array;
  }
  Array<Bf16> random_bf16(std::int64_t n, float scale) {
    Array<Bf16> array = poisoned<Bf16>(n);
    fill_random_bf16(array.data(), 2 * n, scale, ++seed_, stream_);
    return array;
  }
  Array<std::int32_t> random_int32(std::int64_t n, std::int32_t limit) {
    Array<std::int32_t> array = poisoned<std::int32_t>(n);
    fill_random_int32(array.data(), n, limit, ++seed_, stream_);
    return array;
  }

  void check(const std::string& name, const Doubles& got, const Doubles& expected, double limit) {
    report_({name, largest_error(got, expected), limit, "", ""});
  }
  template <typename Run>
  void guarded(const std::string& name, const Run& run) {
    try {
      run();
    } catch (const Unavailable& unavailable) {
      report_({name, 0, 0, unavailable.what(), ""});
    } catch (const std::runtime_error& error) {
      report_({name, 0, 0, "", error.what()});
    }
  }

  void gemm(const std::string& layout) {
    const GemmShape shape{136, 264, 520, layout};
    const auto left = random_bf16(shape.m * shape.k, 1);
    const auto right = random_bf16(shape.k * shape.n, 1);
    const auto out = poisoned<Bf16>(shape.m * shape.n);
    const Gemm product(shape);
    product.run(left.data(), right.data(), out.data(), stream_);
    check("gemm " + layout, out.values(),
          reference_gemm(left.values(), right.values(), shape.m, shape.n, shape.k, layout), kBf16Limit);
  }

  void gemm_into_fp32() {
    const GemmShape shape{136, 264, 520, "nt", true};
    const auto left = random_bf16(shape.m * shape.k, 1);
    const auto right = random_bf16(shape.k * shape.n, 1);
    const auto out = poisoned<float>(shape.m * shape.n);
    fill_random_fp32(out.data(), shape.out_bytes(), 1, ++seed_, stream_);
    Doubles expected = out.values();
    const Doubles product =
        reference_gemm(left.values(), right.values(), shape.m, shape.n, shape.k, shape.layout);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += product[i];
    Gemm(shape).run(left.data(), right.data(), out.data(), stream_);
    check("gemm nt into fp32", out.values(), expected, kFp32Limit);
  }

  void attention(const AttentionShape& shape) {
    const std::int64_t n = shape.query_bytes() / 2;
    const std::int64_t n_kv = shape.key_bytes() / 2;
    const auto query = random_bf16(n, 1);
    const auto key = random_bf16(n_kv, 1);
    const auto value = random_bf16(n_kv, 1);
    const auto out_gradient = random_bf16(n, 1);
    const auto out = poisoned<Bf16>(n);
    const auto stats = poisoned<float>(shape.stats_bytes() / 4);
    const auto query_gradient = poisoned<Bf16>(n);
    const auto key_gradient = poisoned<Bf16>(n_kv);
    const auto value_gradient = poisoned<Bf16>(n_kv);
    const AttentionArrays arrays{
        query.data(),         key.data(),          value.data(),          out.data(),
        stats.data(),         out_gradient.data(), query_gradient.data(), key_gradient.data(),
        value_gradient.data()};
    const Attention forward(shape, false, stream_);
    forward.run(arrays);
    const ReferenceAttention expected =
        reference_attention(shape.documents, shape.n_heads, shape.n_kv_heads, shape.head_dim, query.values(),
                            key.values(), value.values(), out_gradient.values());
    check("attention forward", out.values(), expected.out, kAttentionLimit);
    check("attention statistics", stats.values(), expected.stats, kBf16Limit);
    const Attention backward(shape, true, stream_);
    backward.run(arrays);
    check("attention gradient of the queries", query_gradient.values(), expected.query_gradient,
          kAttentionLimit);
    check("attention gradient of the keys", key_gradient.values(), expected.key_gradient, kAttentionLimit);
    check("attention gradient of the values", value_gradient.values(), expected.value_gradient,
          kAttentionLimit);
  }

  void rms_norm(Shape shape) {
    const int n_multiprocessors = device_.properties().multiProcessorCount;
    const std::string name = "rms_norm of " + std::to_string(shape.cols);
    const auto x = random_bf16(shape.size(), 1);
    const auto weight = random_bf16(shape.cols, 1);
    const auto y_gradient = random_bf16(shape.size(), 1);
    const auto y = poisoned<Bf16>(shape.size());
    const auto scale = poisoned<float>(shape.rows);
    const auto x_gradient = poisoned<Bf16>(shape.size());
    const auto weight_gradient = poisoned<float>(shape.cols);
    const auto partial = poisoned<float>(rms_norm_partial_rows(n_multiprocessors) * shape.cols);
    rms_norm_forward(shape, x.data(), weight.data(), y.data(), scale.data(), stream_);
    rms_norm_backward(shape, x.data(), weight.data(), scale.data(), y_gradient.data(), x_gradient.data(),
                      weight_gradient.data(), partial.data(), n_multiprocessors, stream_);
    const ReferenceRmsNorm expected = reference_rms_norm(shape.rows, shape.cols, x.values(), weight.values(),
                                                         y_gradient.values(), double{kRmsNormEpsilon});
    check(name + " forward", y.values(), expected.y, kBf16Limit);
    check(name + " scale", scale.values(), expected.scale, kFp32Limit);
    check(name + " gradient", x_gradient.values(), expected.x_gradient, kBf16Limit);
    check(name + " gradient of the weight", weight_gradient.values(), expected.weight_gradient, kFp32Limit);
  }

  void pointwise(Shape shape) {
    const auto gate = random_bf16(shape.size(), 4);
    const auto up = random_bf16(shape.size(), 1);
    const auto y_gradient = random_bf16(shape.size(), 1);
    const auto y = poisoned<Bf16>(shape.size());
    const auto gate_gradient = poisoned<Bf16>(shape.size());
    const auto up_gradient = poisoned<Bf16>(shape.size());
    const auto sum = poisoned<Bf16>(shape.size());
    swiglu_forward(shape, gate.data(), up.data(), y.data(), stream_);
    swiglu_backward(shape, gate.data(), up.data(), y_gradient.data(), gate_gradient.data(),
                    up_gradient.data(), stream_);
    residual_add(shape, gate.data(), up.data(), sum.data(), stream_);
    Doubles expected, expected_gate, expected_up, expected_sum;
    const Doubles g = gate.values();
    const Doubles u = up.values();
    const Doubles gradient = y_gradient.values();
    for (std::size_t i = 0; i < g.size(); ++i) {
      expected.push_back(microbench::swiglu_forward(g[i], u[i]));
      const Pair<double> both = microbench::swiglu_backward(g[i], u[i], gradient[i]);
      expected_gate.push_back(both.first);
      expected_up.push_back(both.second);
      expected_sum.push_back(g[i] + u[i]);
    }
    const std::string cols = " of " + std::to_string(shape.cols);
    check("swiglu" + cols + " forward", y.values(), expected, kBf16Limit);
    check("swiglu" + cols + " gradient of the gate", gate_gradient.values(), expected_gate, kBf16Limit);
    check("swiglu" + cols + " gradient of the other", up_gradient.values(), expected_up, kBf16Limit);
    check("residual_add" + cols, sum.values(), expected_sum, kBf16Limit);
  }

  void turn(Shape shape) {
    const std::int64_t half_dim = rope_head_dim(shape.cols) / 2;
    const auto x = random_bf16(shape.size(), 1);
    const auto cosines = random_bf16(shape.rows * half_dim, 1);
    const auto sines = random_bf16(shape.rows * half_dim, 1);
    const Doubles v = x.values();
    const Doubles c = cosines.values();
    const Doubles s = sines.values();
    for (const float direction : {1.0f, -1.0f}) {
      const auto y = poisoned<Bf16>(shape.size());
      rope(shape, x.data(), cosines.data(), sines.data(), y.data(), direction, stream_);
      Doubles expected(v.size());
      for (std::int64_t at = 0; at < shape.size(); ++at) {
        const std::int64_t in_head = at % shape.cols % (2 * half_dim);
        if (in_head >= half_dim) continue;
        const std::int64_t angle = at / shape.cols * half_dim + in_head;
        const Pair<double> turned = rotate(v[at], v[at + half_dim], c[angle], direction * s[angle]);
        expected[at] = turned.first;
        expected[at + half_dim] = turned.second;
      }
      check(direction > 0 ? "rope forward" : "rope backward", y.values(), expected, kBf16Limit);
    }
  }

  void cross_entropy(Shape shape) {
    constexpr float kLossGradient = 0.25f;
    const auto logits = random_bf16(shape.size(), 8);
    const auto targets = random_int32(shape.rows, static_cast<std::int32_t>(shape.cols));
    const auto losses = poisoned<float>(shape.rows);
    const auto log_sums = poisoned<float>(shape.rows);
    const auto gradient = poisoned<Bf16>(shape.size());
    cross_entropy_forward(shape, logits.data(), targets.data(), losses.data(), log_sums.data(), stream_);
    cross_entropy_backward(shape, logits.data(), targets.data(), log_sums.data(), kLossGradient,
                           gradient.data(), stream_);
    const ReferenceCrossEntropy expected = reference_cross_entropy(shape.rows, shape.cols, logits.values(),
                                                                   targets.raw(), double{kLossGradient});
    const std::string cols = " of " + std::to_string(shape.cols);
    check("cross_entropy" + cols + " loss", losses.values(), expected.losses, kFp32Limit);
    check("cross_entropy" + cols + " logarithm of the sum", log_sums.values(), expected.log_sums, kFp32Limit);
    check("cross_entropy" + cols + " gradient", gradient.values(), expected.gradient, kBf16Limit);
  }

  void embedding(Shape shape) {
    constexpr std::int32_t kVocabulary = 11;  // fewer than rows, so that tokens come twice
    const auto tokens = random_int32(shape.rows, kVocabulary);
    const auto table = random_bf16(kVocabulary * shape.cols, 1);
    const auto y = poisoned<Bf16>(shape.size());
    embedding_forward(shape, tokens.data(), table.data(), y.data(), stream_);
    const std::vector<std::int32_t> t = tokens.raw();
    Doubles sums = table.values();
    Doubles expected;
    for (const std::int32_t token : t) {
      const auto row = sums.begin() + token * shape.cols;
      expected.insert(expected.end(), row, row + shape.cols);
    }
    const std::string cols = " of " + std::to_string(shape.cols);
    check("embedding" + cols + " forward", y.values(), expected, 0);

    const auto y_gradient = random_bf16(shape.size(), 1);
    embedding_backward(shape, tokens.data(), y_gradient.data(), table.data(), stream_);
    const Doubles gradient = y_gradient.values();
    for (std::int64_t at = 0; at < shape.size(); ++at)
      sums[t[at / shape.cols] * shape.cols + at % shape.cols] += gradient[at];
    // Each addition rounds to bf16, some four of them a row.
    check("embedding" + cols + " gradient", table.values(), sums, 4 * kBf16Limit);
  }

  void optimizer(std::int64_t n) {
    const auto gradients = random_bf16(n, 1e-3f);
    const auto weights = poisoned<Bf16>(n);
    const auto master = poisoned<float>(n);
    const auto means = poisoned<float>(n);
    const auto squares = poisoned<float>(n);
    fill_random_fp32(master.data(), 4 * n, 1, 1001, stream_);
    fill_random_fp32(means.data(), 4 * n, 1e-3f, 1002, stream_);
    fill_positive_fp32(squares.data(), 4 * n, 1e-6f, 1003, stream_);
    Doubles w = master.values();
    Doubles m = means.values();
    Doubles v = squares.values();
    const Doubles g = gradients.values();
    // A large step, so that a wrong one shows in the weights.
    AdamW<float> constants = adamw_constants();
    constants.learning_rate = 0.1f;
    const AdamW<double> exact{constants.learning_rate, constants.beta1,        constants.beta2,
                              constants.epsilon,       constants.weight_decay, constants.correction1,
                              constants.correction2};
    for (std::size_t i = 0; i < w.size(); ++i) exact.update(g[i], w[i], m[i], v[i]);
    adamw(n, gradients.data(), weights.data(), master.data(), means.data(), squares.data(), constants,
          stream_);
    check("adamw master weights", master.values(), w, kFp32Limit);
    check("adamw means", means.values(), m, kFp32Limit);
    check("adamw squares", squares.values(), v, kFp32Limit);
    check("adamw weights", weights.values(), w, kBf16Limit);
  }

  Device& device_;
  cudaStream_t stream_;
  std::uint64_t seed_ = 0;
  const std::function<void(const Check&)>& report_;
};

}  // namespace

void verify_kernels(Device& device, const std::function<void(const Check&)>& report) {
  Verifier(device, report).run();
}

}  // namespace packsim::microbench
