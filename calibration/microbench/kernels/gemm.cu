#include "calibration/microbench/kernels/gemm.hpp"

#include <cublasLt.h>

#include <array>
#include <vector>

#include "calibration/microbench/kernels/sampler.hpp"

namespace packsim::microbench {
namespace {

constexpr std::int64_t kWorkspace_bytes = std::int64_t{32} << 20;
constexpr std::uint32_t kAlignment_bytes = 256;  // of cudaMalloc and of Operands
constexpr int kProposals = 8;

void check_cublas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(what) + ": " + cublasLtGetStatusString(status));
}

template <auto destroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    destroy(object);
  }
};
template <typename Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;

using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

// A column-major matrix without gaps.
Layout make_layout(std::int64_t rows, std::int64_t cols, cudaDataType_t type = CUDA_R_16BF) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(cols), rows),
               "describe a matrix");
  return Layout(layout);
}

int attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name) {
  int value = -1;
  std::size_t written = 0;
  // Attributes that an algorithm does not have stay -1.
  cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof value, &written);
  return value;
}

}  // namespace

struct Gemm::State {
  Library library;
  Operation operation;
  Layout right;  // cuBLAS's first operand
  Layout left;
  Layout out;
  float old_out_factor = 0;  // cuBLAS's beta
  cublasLtMatmulHeuristicResult_t proposal{};
  Buffer workspace;
};

Gemm::Gemm(const GemmShape& shape) : state_(std::make_unique<State>()) {
  State& state = *state_;
  cublasLtHandle_t library = nullptr;
  check_cublas(cublasLtCreate(&library), "start cuBLASLt");
  state.library.reset(library);
  cublasLtMatmulDesc_t operation = nullptr;
  check_cublas(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
  state.operation.reset(operation);
  const bool right_turned = shape.layout.front() == 't';
  const bool left_turned = shape.layout.back() == 't';
  const cublasOperation_t right_operation = right_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t left_operation = left_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
  check_cublas(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &right_operation,
                                              sizeof right_operation),
               "describe a product");
  check_cublas(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &left_operation,
                                              sizeof left_operation),
               "describe a product");
  state.right = right_turned ? make_layout(shape.k, shape.n) : make_layout(shape.n, shape.k);
  state.left = left_turned ? make_layout(shape.m, shape.k) : make_layout(shape.k, shape.m);
  state.out = make_layout(shape.n, shape.m, shape.adds_into_fp32 ? CUDA_R_32F : CUDA_R_16BF);
  state.old_out_factor = shape.adds_into_fp32 ? 1.0f : 0.0f;

  cublasLtMatmulPreference_t preference = nullptr;
  check_cublas(cublasLtMatmulPreferenceCreate(&preference), "describe a preference");
  const Preference owned_preference(preference);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value),
                 "describe a preference");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kWorkspace_bytes));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kAlignment_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignment_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kAlignment_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kAlignment_bytes);
  std::array<cublasLtMatmulHeuristicResult_t, kProposals> proposals{};
  int n_proposals = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library, operation, state.right.get(), state.left.get(), state.out.get(),
                                     state.out.get(), preference, kProposals, proposals.data(), &n_proposals);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && n_proposals == 0))
    throw Unavailable("cuBLASLt has no algorithm for this product");
  check_cublas(status, "ask cuBLASLt for an algorithm");
  state.proposal = proposals.front();
  state.workspace = Buffer(static_cast<std::int64_t>(state.proposal.workspaceSize));
}

Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;

void Gemm::run(const void* left, const void* right, void* out, cudaStream_t stream) const {
  const float one = 1;
  const State& state = *state_;
  check_cublas(cublasLtMatmul(state.library.get(), state.operation.get(), &one, right, state.right.get(),
                              left, state.left.get(), &state.old_out_factor, out, state.out.get(), out, state.out.get(),
                              &state.proposal.algo, state.workspace.bytes(),
                              static_cast<std::size_t>(state.workspace.size_bytes()), stream),
               "cublasLtMatmul");
}

std::string Gemm::algorithm() const {
  const cublasLtMatmulAlgo_t& algorithm = state_->proposal.algo;
  return "id " + std::to_string(attribute(algorithm, CUBLASLT_ALGO_CONFIG_ID)) + " tile " +
         std::to_string(attribute(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)) + " stages " +
         std::to_string(attribute(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID)) + " split_k " +
         std::to_string(attribute(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)) + " workspace " +
         std::to_string(state_->proposal.workspaceSize);
}

Prepared prepare_gemm(const KernelCase& kernel, Device& device) {
  const std::string layout = kernel.value("layout");
  const GemmShape shape{kernel.integer("m"), kernel.integer("n"), kernel.integer("k"), layout,
                        kernel.value("dtype") == "bf16_into_fp32"};
  constexpr std::int64_t kLongest = 2147483647;  // cuBLAS counts rows and columns in 31 bits
  if (shape.m > kLongest || shape.n > kLongest || shape.k > kLongest)
    throw Unavailable("larger than cuBLASLt's matrices");
  if (kernel_bytes(kernel) > 1e13) throw Unavailable("larger than any GPU's memory");
  struct Product {
    Gemm gemm;
    Operands operands;
  };
  enum { left, right, out };
  const std::vector<std::int64_t> sizes_bytes = {shape.left_bytes(), shape.right_bytes(), shape.out_bytes()};
  const std::shared_ptr<Product> product(
      new Product{Gemm(shape), Operands(device, sizes_bytes, kernel.value("cache") == "cold")});
  const cudaStream_t stream = device.stream();
  product->operands.fill_bf16(left, 1, stream);
  product->operands.fill_bf16(right, 1, stream);
  if (shape.adds_into_fp32) product->operands.fill_fp32(out, 1, false, stream);
  return timed_by_sampler(
      device, "cublaslt",
      [product, stream](std::int64_t i) {
        product->gemm.run(product->operands.get<void>(i, left), product->operands.get<void>(i, right),
                          product->operands.get<void>(i, out), stream);
      },
      product,
      {{"algorithm", product->gemm.algorithm()}, {"copies", std::to_string(product->operands.n_copies())}});
}

std::string gemm_standing(const Device* /*device*/) {
  const std::size_t version = cublasLtGetVersion();
  // 130100 is 13.1.0.
  return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace packsim::microbench
