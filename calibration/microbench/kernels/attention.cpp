#include "calibration/microbench/kernels/attention.hpp"

#include <cudnn_frontend.h>

#include <array>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calibration/microbench/kernels/sampler.hpp"

namespace packsim::microbench {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// Ragged statistics, which keep them as small as the pack, came with cuDNN 9.6.
constexpr std::size_t kOldestVersion = 90600;

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(what) + ": " + cudnnGetErrorString(status));
}

// While a graph is being built: what cuDNN refuses, it cannot run here.
void check_support(fe::error_t error) {
  if (error.is_good()) return;
  throw Unavailable("cuDNN: " + error.get_message());
}

template <typename T>
Buffer on_device(const std::vector<T>& values, cudaStream_t stream) {
  Buffer buffer(static_cast<std::int64_t>(values.size() * sizeof(T)));
  check_cuda(cudaMemcpyAsync(buffer.bytes(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                             stream),
             "copy to the GPU");
  check_cuda(cudaStreamSynchronize(stream), "copy to the GPU");
  return buffer;
}

struct DestroyCudnn {
  void operator()(cudnnHandle_t handle) const { cudnnDestroy(handle); }
};

}  // namespace

struct Attention::State {
  std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, DestroyCudnn> handle;
  fe::graph::Graph graph;
  Tensor query, key, value, out, stats, out_gradient, query_gradient, key_gradient, value_gradient, scale,
      query_lengths, key_lengths;
  Tensor query_starts, key_starts, stats_starts;
  Buffer lengths_data, query_starts_data, key_starts_data, stats_starts_data, workspace;
  float scale_value = 1;

  std::int64_t n_documents = 0;
  std::int64_t longest_tokens = 0;

  // Where each document starts in an array, in elements; one more for the end.
  Tensor starts(const char* name) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_dim({n_documents + 1, 1, 1, 1})
                            .set_stride({1, 1, 1, 1})
                            .set_data_type(fe::DataType_t::INT64));
  }

  // Dimensions and strides of [tokens, heads, head_dim], as cuDNN wants them: document, head, token, element.
  std::vector<std::int64_t> dims(std::int64_t n_heads, std::int64_t head_dim) const {
    return {n_documents, n_heads, longest_tokens, head_dim};
  }
  std::vector<std::int64_t> strides(std::int64_t n_heads, std::int64_t head_dim) const {
    return {n_heads * longest_tokens * head_dim, head_dim, n_heads * head_dim, 1};
  }

  Tensor array(const char* name, std::int64_t n_heads, std::int64_t head_dim, const Tensor& array_starts) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_dim(dims(n_heads, head_dim))
                            .set_stride(strides(n_heads, head_dim))
                            .set_ragged_offset(array_starts));
  }

  // Tokens of each document.
  Tensor lengths(const char* name) {
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_dim({n_documents, 1, 1, 1})
                            .set_stride({1, 1, 1, 1})
                            .set_data_type(fe::DataType_t::INT32));
  }

  void describe(const AttentionShape& shape) {
    graph.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    query_starts = starts("query_starts");
    key_starts = starts("key_starts");
    stats_starts = starts("stats_starts");
    query = array("query", shape.n_heads, shape.head_dim, query_starts);
    key = array("key", shape.n_kv_heads, shape.head_dim, key_starts);
    value = array("value", shape.n_kv_heads, shape.head_dim, key_starts);
    scale = graph.tensor(fe::graph::Tensor_attributes()
                             .set_name("scale")
                             .set_dim({1, 1, 1, 1})
                             .set_stride({1, 1, 1, 1})
                             .set_is_pass_by_value(true)
                             .set_data_type(fe::DataType_t::FLOAT));
    query_lengths = lengths("query_lengths");
    key_lengths = lengths("key_lengths");
  }

  void describe_forward(const AttentionShape& shape) {
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention_forward")
                       .set_causal_mask(true)
                       .set_attn_scale(scale)
                       .set_padding_mask(true)
                       .set_seq_len_q(query_lengths)
                       .set_seq_len_kv(key_lengths)
                       .set_generate_stats(true);
    std::tie(out, stats) = as_pair(graph.sdpa(query, key, value, std::move(options)));
    out->set_output(true)
        .set_dim(dims(shape.n_heads, shape.head_dim))
        .set_stride(strides(shape.n_heads, shape.head_dim))
        .set_ragged_offset(query_starts);
    stats->set_output(true)
        .set_data_type(fe::DataType_t::FLOAT)
        .set_dim(dims(shape.n_heads, 1))
        .set_stride(strides(shape.n_heads, 1))
        .set_ragged_offset(stats_starts);
  }

  void describe_backward(const AttentionShape& shape) {
    out = array("out", shape.n_heads, shape.head_dim, query_starts);
    out_gradient = array("out_gradient", shape.n_heads, shape.head_dim, query_starts);
    stats = array("stats", shape.n_heads, 1, stats_starts);
    stats->set_data_type(fe::DataType_t::FLOAT);
    // An upper bound: it sizes parts of the work space, behind which cuDNN's own has to begin aligned.
    const std::int64_t n_tokens = (shape.documents.tokens() + 63) / 64 * 64;
    auto options = fe::graph::SDPA_backward_attributes()
                       .set_name("attention_backward")
                       .set_causal_mask(true)
                       .set_attn_scale(scale)
                       .set_padding_mask(true)
                       .set_seq_len_q(query_lengths)
                       .set_seq_len_kv(key_lengths)
                       .set_max_total_seq_len_q(n_tokens)
                       .set_max_total_seq_len_kv(n_tokens);
    const auto gradients =
        graph.sdpa_backward(query, key, value, out, out_gradient, stats, std::move(options));
    query_gradient = gradients[0];
    key_gradient = gradients[1];
    value_gradient = gradients[2];
    query_gradient->set_output(true)
        .set_dim(dims(shape.n_heads, shape.head_dim))
        .set_stride(strides(shape.n_heads, shape.head_dim))
        .set_ragged_offset(query_starts);
    for (const Tensor& gradient : {key_gradient, value_gradient}) {
      gradient->set_output(true)
          .set_dim(dims(shape.n_kv_heads, shape.head_dim))
          .set_stride(strides(shape.n_kv_heads, shape.head_dim))
          .set_ragged_offset(key_starts);
    }
  }

  static std::pair<Tensor, Tensor> as_pair(const std::array<Tensor, 2>& both) { return {both[0], both[1]}; }

  fe::error_t plan_by(fe::HeurMode_t mode) {
    fe::error_t error = graph.create_execution_plans({mode});
    if (error.is_good()) error = graph.check_support(handle.get());
    if (error.is_good()) error = graph.build_plans(handle.get());
    return error;
  }

  void build() {
    check_support(graph.validate());
    check_support(graph.build_operation_graph(handle.get()));
    // What the best heuristic refuses, another may run. The first refusal is the one that is told.
    fe::error_t refusal = plan_by(fe::HeurMode_t::A);
    for (const fe::HeurMode_t mode : {fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}) {
      if (refusal.is_good()) break;
      if (plan_by(mode).is_good()) refusal = {};
    }
    check_support(refusal);
    std::int64_t workspace_bytes = 0;
    check_support(graph.get_workspace_size(workspace_bytes));
    workspace = Buffer(workspace_bytes);
  }
};

Attention::Attention(const AttentionShape& shape, bool is_backward, cudaStream_t stream)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  if (cudnnGetVersion() < kOldestVersion)
    throw Unavailable("needs cuDNN 9.6 or later, has " + std::to_string(cudnnGetVersion()));
  cudnnHandle_t handle = nullptr;
  check_cudnn(cudnnCreate(&handle), "start cuDNN");
  state.handle.reset(handle);
  check_cudnn(cudnnSetStream(handle, stream), "choose cuDNN's stream");

  const std::vector<std::int32_t> cumulative_tokens = shape.documents.cumulative_tokens();
  std::vector<std::int32_t> lengths_tokens;
  std::vector<std::int64_t> query_starts, key_starts, stats_starts;
  for (std::size_t i = 0; i < cumulative_tokens.size(); ++i) {
    const std::int64_t start_tokens = cumulative_tokens[i];
    if (i > 0) lengths_tokens.push_back(cumulative_tokens[i] - cumulative_tokens[i - 1]);
    query_starts.push_back(start_tokens * shape.n_heads * shape.head_dim);
    key_starts.push_back(start_tokens * shape.n_kv_heads * shape.head_dim);
    stats_starts.push_back(start_tokens * shape.n_heads);
  }
  state.n_documents = shape.documents.n_documents();
  state.longest_tokens = shape.documents.longest_tokens();
  state.scale_value = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  state.describe(shape);
  if (is_backward) {
    state.describe_backward(shape);
  } else {
    state.describe_forward(shape);
  }
  state.build();
  state.lengths_data = on_device(lengths_tokens, stream);
  state.query_starts_data = on_device(query_starts, stream);
  state.key_starts_data = on_device(key_starts, stream);
  state.stats_starts_data = on_device(stats_starts, stream);
}

Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;

void Attention::run(const AttentionArrays& arrays) const {
  State& state = *state_;
  std::unordered_map<Tensor, void*> data = {{state.query, arrays.query},
                                            {state.key, arrays.key},
                                            {state.value, arrays.value},
                                            {state.out, arrays.out},
                                            {state.stats, arrays.stats},
                                            {state.scale, &state.scale_value},
                                            {state.query_lengths, state.lengths_data.bytes()},
                                            {state.key_lengths, state.lengths_data.bytes()},
                                            {state.query_starts, state.query_starts_data.bytes()},
                                            {state.key_starts, state.key_starts_data.bytes()},
                                            {state.stats_starts, state.stats_starts_data.bytes()}};
  if (state.out_gradient != nullptr) {
    data.insert({{state.out_gradient, arrays.out_gradient},
                 {state.query_gradient, arrays.query_gradient},
                 {state.key_gradient, arrays.key_gradient},
                 {state.value_gradient, arrays.value_gradient}});
  }
  fe::error_t error = state.graph.execute(state.handle.get(), data, state.workspace.bytes());
  if (error.is_bad()) throw std::runtime_error("cuDNN: " + error.get_message());
}

std::string Attention::plan() const {
  std::string name;
  return state_->graph.get_plan_name(name).is_good() ? name : "";
}

Prepared prepare_attention(const KernelCase& kernel, Device& device) {
  const AttentionShape shape{kernel.documents("docs"), kernel.integer("heads"), kernel.integer("kv_heads"),
                             kernel.integer("head_dim")};
  if (shape.n_heads % shape.n_kv_heads != 0) throw Unavailable("heads must be a multiple of kv_heads");
  // So that no size overflows: there are at most 2^31 tokens.
  constexpr std::int64_t kMostPerToken = std::int64_t{1} << 24;
  if (shape.n_heads > kMostPerToken / shape.head_dim) throw Unavailable("larger than any GPU's memory");
  const bool is_backward = kernel.value("pass") == "bwd";
  const cudaStream_t stream = device.stream();
  enum { query, key, value, out, stats, out_gradient, query_gradient, key_gradient, value_gradient };
  std::vector<std::int64_t> sizes_bytes = {shape.query_bytes(), shape.key_bytes(), shape.key_bytes(),
                                           shape.query_bytes(), shape.stats_bytes()};
  if (is_backward)
    sizes_bytes.insert(sizes_bytes.end(),
                       {shape.query_bytes(), shape.query_bytes(), shape.key_bytes(), shape.key_bytes()});
  // Hot: queries, keys and values have just been written where attention follows.
  const auto o = std::make_shared<Operands>(device, sizes_bytes, false);
  for (const int operand : {query, key, value}) o->fill_bf16(operand, 1, stream);
  AttentionArrays arrays{o->get<void>(0, query), o->get<void>(0, key), o->get<void>(0, value),
                         o->get<void>(0, out), o->get<void>(0, stats)};
  if (is_backward) {
    o->fill_bf16(out_gradient, 1, stream);
    arrays.out_gradient = o->get<void>(0, out_gradient);
    arrays.query_gradient = o->get<void>(0, query_gradient);
    arrays.key_gradient = o->get<void>(0, key_gradient);
    arrays.value_gradient = o->get<void>(0, value_gradient);
    const Attention forward(shape, false, stream);
    forward.run(arrays);
    check_cuda(cudaStreamSynchronize(stream), "run attention forward");
  }
  const auto attention = std::make_shared<Attention>(shape, is_backward, stream);
  return timed_by_sampler(device, "cudnn", [o, attention, arrays](std::int64_t) { attention->run(arrays); },
                          attention, {{"plan", attention->plan()}});
}

std::string attention_standing(const Device* /*device*/) {
  const std::size_t version = cudnnGetVersion();
  // 91900 is 9.19.0.
  return "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100) + " (frontend " + std::to_string(CUDNN_FRONTEND_MAJOR_VERSION) + "." +
         std::to_string(CUDNN_FRONTEND_MINOR_VERSION) + "." + std::to_string(CUDNN_FRONTEND_PATCH_VERSION) +
         ")";
}

}  // namespace packsim::microbench
