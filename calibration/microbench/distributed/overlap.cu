#include <algorithm>
#include <stdexcept>

#include "calibration/microbench/distributed/collective_call.hpp"
#include "calibration/microbench/distributed/collectives.hpp"
#include "calibration/microbench/kernels/gemm.hpp"

namespace packsim::microbench {
namespace {

constexpr double kFirstDelay_s = 1e-3;
// Calls that must be queued before the product starts. A stream takes about a thousand, some calls several.
constexpr int kQueuedBefore = 128;
constexpr int kMostCalls = 1 << 15;
constexpr std::int64_t kWorkspaceBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostRows = 2147483647;  // cuBLAS counts rows and columns in 31 bits

// The product on one GPU.
struct Product {
  explicit Product(const GemmShape& shape)
      : gemm(shape), left(shape.left_bytes()), right(shape.right_bytes()), out(shape.out_bytes()) {
    fill_random_bf16(left.bytes(), left.size_bytes(), 1.0F, 1, stream.get());
    fill_random_bf16(right.bytes(), right.size_bytes(), 1.0F, 2, stream.get());
    run();
    check_cuda(cudaStreamSynchronize(stream.get()), "product");
  }

  void run() const { gemm.run(left.bytes(), right.bytes(), out.bytes(), stream.get()); }

  Gemm gemm;
  Buffer left;
  Buffer right;
  Buffer out;
  Stream stream;
  Event collective_runs;  // the first call is over and the next begins
  Event start;
  Event stop;
  Event collective_ends;
};

GemmShape shape_of(const KernelCase& kernel) {
  const GemmShape shape{kernel.integer("m"), kernel.integer("n"), kernel.integer("k"), "tn"};
  if (shape.m > kMostRows || shape.n > kMostRows || shape.k > kMostRows)
    throw Unavailable("larger than cuBLASLt's matrices");
  // Then its bytes are below 2^63, and so is their sum.
  const double values = static_cast<double>(shape.m) * static_cast<double>(shape.k) +
                        static_cast<double>(shape.k) * static_cast<double>(shape.n) +
                        static_cast<double>(shape.m) * static_cast<double>(shape.n);
  if (values > 1e12) throw Unavailable("no GPU has memory for this product");
  return shape;
}

class OverlapTimer {
 public:
  OverlapTimer(NcclWorld& world, NcclGroup& group, const GemmShape& gemm, const CollectiveShape& collective)
      : call_(world, group, collective,
              gemm.left_bytes() + gemm.right_bytes() + gemm.out_bytes() + kWorkspaceBytes) {
    world.agree([&] {
      for (const GroupMember& member : group.members()) {
        const OnDevice on_device(member.device);
        products_.push_back(std::make_unique<Product>(gemm));
      }
    });
    if (attempt_s() == 0)
      throw Unavailable("the collective is too short to run beside the product from start to end");
  }

  double time_once_s() {
    const double time_s = attempt_s();
    if (time_s == 0)
      throw std::runtime_error("the collective ended before the product, however often repeated");
    return time_s;
  }

  // The same in all processes that have a GPU of the group.
  std::string algorithm() const { return products_.empty() ? "" : products_.front()->gemm.algorithm(); }

 private:
  enum Verdict { good = 0, too_few_calls = 1, too_late = 2 };
  struct Sample {
    double time_s = 0;
    Verdict verdict = good;
  };

  // 0, on all processes, where there is no such sample; reason_ says why.
  double attempt_s() {
    NcclGroup& group = call_.group();
    return group.attempt([&] {
      while (true) {
        const Sample sample = take_sample();
        const auto worst = static_cast<Verdict>(static_cast<int>(group.channel().largest(sample.verdict)));
        if (worst == good) return group.channel().largest(sample.time_s);
        if (worst == too_late) {
          reason_ = kNeverQueued;
          if (!lengthen(delay_s_)) return 0.0;
        } else {
          reason_ = "the collective is too short to run beside the product from start to end";
          if (n_calls_ >= kMostCalls) return 0.0;
          n_calls_ *= 2;
        }
      }
    });
  }

  void queue_product(std::size_t i) const {
    const GroupMember& member = call_.group().members()[i];
    const Product& product = *products_[i];
    const OnDevice on_device(member.device);
    product.collective_runs.record(member.stream);
    check_cuda(cudaStreamWaitEvent(product.stream.get(), product.collective_runs.get(), 0),
               "cudaStreamWaitEvent");
    product.start.record(product.stream.get());
    product.run();
    product.stop.record(product.stream.get());
  }

  Sample take_sample() {
    NcclGroup& group = call_.group();
    queue_start(group, delay_s_);
    call_.queue();
    for (std::size_t i = 0; i < products_.size(); ++i) queue_product(i);
    Sample sample;
    for (int call = 1; call < n_calls_; ++call) {
      call_.queue();
      if (call != std::min(n_calls_ - 1, kQueuedBefore)) continue;
      for (const auto& product : products_) {
        if (product->start.is_over()) sample.verdict = too_late;
      }
    }
    std::vector<const Event*> all;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const OnDevice on_device(group.members()[i].device);
      products_[i]->collective_ends.record(group.members()[i].stream);
      all.push_back(&products_[i]->collective_ends);
      all.push_back(&products_[i]->stop);
    }
    group.wait(all);
    for (const auto& product : products_) {
      sample.time_s = std::max(sample.time_s, seconds_between(product->start, product->stop));
      if (sample.verdict == good && seconds_between(product->stop, product->collective_ends) <= 0)
        sample.verdict = too_few_calls;
    }
    return sample;
  }

  CollectiveCall call_;
  std::vector<std::unique_ptr<Product>> products_;
  const char* reason_ = "";
  int n_calls_ = 2;
  double delay_s_ = kFirstDelay_s;
};

}  // namespace

Prepared prepare_overlap(const KernelCase& kernel, Device& device) {
  const GemmShape gemm = shape_of(kernel);
  NcclWorld& world = nccl_world(device);
  NcclGroup& group = world.group(kernel.integer("gpus"), kernel.integer("nodes"));
  const CollectiveShape collective =
      collective_shape(kernel.value("op"), group.n_gpus(), kernel.integer("bytes"), 1);
  const auto timer = std::make_shared<OverlapTimer>(world, group, gemm, collective);
  return {.library = "cublaslt",
          .time_once_s = [timer] { return timer->time_once_s(); },
          .details = {{"algorithm", timer->algorithm()}, {"beside", "nccl"}}};
}

}  // namespace packsim::microbench
