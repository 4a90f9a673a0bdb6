// packsim_microbench: measures GPU kernels for packsim's hardware profiles.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "calibration/microbench/core/command_line.hpp"
#include "calibration/microbench/core/obstacle.hpp"
#include "calibration/microbench/core/plan.hpp"
#include "calibration/microbench/core/runner.hpp"
#include "calibration/microbench/core/stop_signals.hpp"
#include "calibration/microbench/distributed/collectives.hpp"
#include "calibration/microbench/distributed/gpu_choice.hpp"
#include "calibration/microbench/distributed/processes/processes.hpp"
#include "calibration/microbench/kernels/families.hpp"
#include "calibration/microbench/kernels/verify/verify.hpp"
#include "files/text/printable.hpp"

namespace packsim::microbench {
namespace {

constexpr int kUserExit = 2;
constexpr int kMachineExit = 3;
constexpr int kWrongExit = 70;
constexpr int kInterruptedExit = 130;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// GPUs that CUDA sees; throws std::runtime_error that says what is missing.
int count_gpus() {
  int n_gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&n_gpus);
  if (status == cudaErrorInsufficientDriver)
    throw std::runtime_error("no CUDA driver, or one that is too old for CUDA " +
                             std::to_string(CUDART_VERSION / 1000) + ": nothing can be measured here");
  if (status == cudaErrorNoDevice || (status == cudaSuccess && n_gpus == 0))
    throw std::runtime_error("no CUDA GPU: nothing can be measured here");
  check_cuda(status, "no CUDA driver answers");
  return n_gpus;
}

std::vector<int> own_gpus(ControlChannel& channel, const CommandLine& line) {
  std::vector<int> ordinals = choose_gpus(channel);
  if (line.device < 0) return ordinals;
  const auto chosen = std::ranges::find(ordinals, line.device);
  if (chosen == ordinals.end())
    throw UserError("--device: expected a GPU of this process, of which there are " +
                    std::to_string(ordinals.size()) + ", got " + std::to_string(line.device));
  std::rotate(ordinals.begin(), chosen, chosen + 1);
  return ordinals;
}

// The processes of a run take the same cases in the same order, or wait for each other for ever.
void check_same_plan(const std::vector<KernelCase>& cases, Coordination& coordination) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const KernelCase& kernel : cases) {
    for (const char c : kernel.text() + "\n")
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  }
  const auto mine = static_cast<double>(hash >> 12);
  // Both are asked for by all, whatever the first says.
  const double largest = coordination.largest(mine);
  const double smallest = -coordination.largest(-mine);
  if (largest != smallest)
    throw UserError("--plan: expected the same cases in every process, got different ones");
}

void print_list(const Device* device, const std::string& why_not) {
  std::cout << "packsim_microbench " PACKSIM_VERSION ", built with CUDA " << CUDART_VERSION / 1000 << "."
            << CUDART_VERSION % 1000 / 10 << "\n";
  if (device == nullptr) std::cout << "GPU: " << why_not << "\n";
  if (device != nullptr)
    std::cout << "GPUs: " << device->ordinals().size() << " of this process, the first "
              << device->properties().name << "\n";
  for (const Family& family : families()) {
    std::string name(family.kernel);
    name.resize(12, ' ');
    std::cout << name;
    std::cout << family.standing(device) << (family.all_ranks ? " (all GPUs)" : "") << "\n";
  }
}

void print_dry_run(const std::vector<KernelCase>& cases, const MachineLimits& limits,
                   const std::string& why_not) {
  std::size_t n_skipped = 0;
  for (const KernelCase& kernel : cases) {
    const std::string reason = obstacle(kernel, limits);
    n_skipped += !reason.empty();
    std::cout << printable(kernel.text()) << (reason.empty() ? "" : "  # skipped: " + reason) << "\n";
  }
  std::cerr << cases.size() << " cases, of which " << n_skipped << " would be skipped\n";
  if (!why_not.empty()) std::cerr << why_not << "; memory and the number of GPUs were not checked\n";
}

MachineLimits limits_of(const Device* device, const Coordination* coordination) {
  MachineLimits limits;
  limits.has_cublaslt = PACKSIM_HAS_CUBLASLT;
  limits.has_cudnn = PACKSIM_HAS_CUDNN;
  limits.has_nccl = PACKSIM_HAS_NCCL;
  if (device == nullptr) return limits;
  limits.memory_bytes = static_cast<std::int64_t>(device->properties().totalGlobalMem);
  // The GPUs of other processes are theirs to count.
  if (coordination->n_ranks() == 1) limits.n_gpus = static_cast<std::int64_t>(device->ordinals().size());
  return limits;
}

void print_check(const Check& check) {
  const char* verdict = !check.failed.empty() ? "FAILED " : check.is_right() ? "right  " : "WRONG  ";
  std::cout << (check.skipped.empty() ? verdict : "skipped") << "  " << check.name << ": ";
  if (check.skipped.empty() && check.failed.empty()) {
    std::cout << "largest relative error " << check.error << ", limit " << check.limit;
  } else {
    std::cout << check.skipped << check.failed;
  }
  // Flushed, as a later kernel may end the program.
  std::cout << std::endl;
}

int verify(Device& device) {
  bool is_right = true;
  if (device.coordination().rank() == 0) {
    verify_kernels(device, [&](const Check& check) {
      print_check(check);
      is_right = is_right && check.is_right();
    });
  }
  for (const CollectiveCheck& check : verify_collectives(device)) {
    std::cout << (check.is_right ? "right  " : "WRONG  ") << "  " << check.text << std::endl;
    is_right = is_right && check.is_right;
  }
  return device.coordination().largest(is_right ? 0 : 1) > 0 ? kWrongExit : 0;
}

int measure(const std::vector<KernelCase>& cases, const CommandLine& line, Device& device) {
  Coordination& coordination = device.coordination();
  const bool is_first = coordination.rank() == 0;
  check_same_plan(cases, coordination);
  const StopSignals signals;
  const Nvml nvml(pci_bus_id(device));
  GpuMachine machine(device, nvml);
  std::unique_ptr<MeasurementFile> file;
  if (is_first) {
    const SourceLine source = describe_machine(device, nvml, line.text);
    file = std::make_unique<MeasurementFile>(line.out, source.gpu);
    if (file->cut_bytes() > 0)
      std::cerr << printable(line.out) << ": cut off an unfinished last line of " << file->cut_bytes()
                << " bytes\n";
    if (file->n_measured() > 0)
      std::cerr << printable(line.out) << ": going on after " << file->n_measured() << " cases\n";
    file->append(format_line(source));
  }
  Run run;
  run.rule.noise_fraction = line.noise_fraction;
  run.rule.min_samples = line.min_samples;
  run.rule.max_samples = line.max_samples;
  run.rule.longest_s = line.case_seconds;
  run.rule.shortest_s = std::min(line.min_case_s, line.case_seconds);
  run.rule.warmup_s = line.warmup_s;
  run.rule.longest_warmup_s = std::max(run.rule.longest_warmup_s, line.warmup_s);
  run.budget_s = line.budget_s;
  run.now_s = now_s;
  run.stop_asked = StopSignals::asked;
  run.case_timeout_s = line.case_timeout_s;
  run.retry_failed = line.retry_failed;
  run.progress = is_first ? &std::cerr : nullptr;
  run.coordination = &coordination;
  run.file = file.get();
  const RunSummary summary = run_cases(cases, machine, run);
  if (is_first) std::cout << format_summary(summary) << std::flush;
  if (summary.ending != Ending::interrupted) return 0;
  if (is_first) std::cerr << "packsim_microbench: interrupted; to go on: " << printable(line.text) << "\n";
  return kInterruptedExit;
}

int run_on_gpus(const std::vector<KernelCase>& cases, const CommandLine& line, ControlChannel& channel) {
  // The end of all GPU work, before the Device goes; also when something throws.
  struct Close {
    ~Close() { close_collectives(); }
  };
  Device device(own_gpus(channel, line), channel);
  const Close close;
  if (line.list) {
    if (channel.rank() == 0) print_list(&device, "");
    return 0;
  }
  if (line.dry_run) {
    if (channel.rank() == 0) print_dry_run(cases, limits_of(&device, &channel), "");
    return 0;
  }
  return line.verify ? verify(device) : measure(cases, line, device);
}

int run(const CommandLine& line) {
  const std::vector<KernelCase> cases = read_plans(line.plans);
  if (line.list || line.dry_run) {
    // What can be said without a GPU is said without one.
    try {
      count_gpus();
    } catch (const std::runtime_error& error) {
      if (line.list) print_list(nullptr, error.what());
      if (line.dry_run) print_dry_run(cases, limits_of(nullptr, nullptr), error.what());
      return 0;
    }
  }
  count_gpus();
  const std::unique_ptr<ControlChannel> channel = make_coordination(find_launch(process_environment()));
  try {
    return run_on_gpus(cases, line, *channel);
  } catch (const std::exception& error) {
    channel->give_up(error.what());
    throw;
  }
}

int fail(const std::string& message, int exit_code) {
  std::cerr << message_lines("packsim_microbench", message);
  return exit_code;
}

int main_of(int argc, char** argv) {
  try {
    const CommandLine line = parse_command_line(argc, argv);
    int exit_code = 0;
    if (line.help) {
      std::cout << help_text();
    } else if (line.version) {
      std::cout << "packsim_microbench " PACKSIM_VERSION "\n";
    } else {
      exit_code = run(line);
    }
    if (!std::cout.flush()) return fail("standard output cannot be written", kMachineExit);
    return exit_code;
  } catch (const std::invalid_argument& mistake) {
    return fail(mistake.what(), kUserExit);
  } catch (const std::exception& error) {
    return fail(error.what(), kMachineExit);
  }
}

}  // namespace
}  // namespace packsim::microbench

int main(int argc, char** argv) {
  return packsim::microbench::main_of(argc, argv);
}
