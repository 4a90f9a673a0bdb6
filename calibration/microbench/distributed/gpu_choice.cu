#include <cuda_runtime.h>

#include <fstream>

#include "calibration/microbench/distributed/gpu_choice.hpp"
#include "calibration/microbench/distributed/topology.hpp"
#include "calibration/microbench/kernels/device.hpp"

namespace packsim::microbench {
namespace {

// The text has no spaces, and is empty where there is no GPU: the process then says so to all the others.
std::string uuids() {
  int n_gpus = 0;
  if (cudaGetDeviceCount(&n_gpus) != cudaSuccess) return "";
  std::string text;
  for (int device = 0; device < n_gpus; ++device) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    static constexpr char kDigits[] = "0123456789abcdef";
    for (const char byte : properties.uuid.bytes) {
      text += kDigits[static_cast<unsigned char>(byte) >> 4];
      text += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    text += ' ';
  }
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find(' ', start);
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

}  // namespace

std::string node_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return host_name() + (boot.empty() ? "" : " (boot " + boot.substr(0, 8) + ")");
}

std::vector<int> choose_gpus(ControlChannel& channel) {
  const std::vector<std::string> nodes = channel.gather(node_name());
  const std::vector<std::string> gpus = channel.gather(uuids());
  std::vector<ProcessGpus> processes;
  for (std::size_t i = 0; i < nodes.size(); ++i) processes.push_back({nodes[i], words_of(gpus[i])});
  return share_out_gpus(processes)[static_cast<std::size_t>(channel.rank())];
}

}  // namespace packsim::microbench
