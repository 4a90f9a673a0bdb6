#include "calibration/microbench/distributed/processes/launch.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <span>
#include <stdexcept>

#include "calibration/microbench/distributed/processes/host_list.hpp"

namespace packsim::microbench {
namespace {

// Room for other programs that hold a port; over 16 a connection attempt would get slow.
constexpr int kPorts = 16;

// What a launcher tells a process. An alternative name counts where the first is not set.
struct LauncherRow {
  std::string_view name;
  std::array<const char*, 2> rank;
  std::array<const char*, 2> n_ranks;
  std::array<const char*, 2> local_rank;
  std::array<const char*, 2> n_local_ranks;
  std::array<const char*, 4> job;
};

// Sources: PyTorch "torchrun" documentation; Open MPI FAQ "environmental variables"; MPICH and Intel MPI
// process managers; srun manual, "output environment variables".
const std::array<LauncherRow, 4> kLaunchers = {{
    {"torchrun", {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}, {"TORCHELASTIC_RUN_ID"}},
    {"open_mpi",
     {"OMPI_COMM_WORLD_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_RANK"},
     {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"pmi",
     {"PMI_RANK"},
     {"PMI_SIZE"},
     {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
     {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
     {"SLURM_JOB_ID"}},
    {"slurm",
     {"SLURM_PROCID"},
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     {"SLURM_LOCALID"},
     {},
     {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
}};

class Reader {
 public:
  Reader(const Environment& environment, std::string& mistakes)
      : environment_(environment), mistakes_(mistakes) {}

  void report(const std::string& mistake) { mistakes_ += (mistakes_.empty() ? "" : "\n") + mistake; }

  std::optional<std::string> text(std::span<const char* const> names) const {
    for (const char* name : names) {
      if (name == nullptr) continue;
      if (const std::optional<std::string> value = environment_(name); value && !value->empty()) return value;
    }
    return std::nullopt;
  }

  bool is_set(const char* name) const { return text({{name}}).has_value(); }

  std::optional<int> integer(std::span<const char* const> names, int low, int high) {
    const std::optional<std::string> value = text(names);
    if (!value) return std::nullopt;
    int number = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error == std::errc() && end == value->data() + value->size() && number >= low && number <= high)
      return number;
    report(name_of(names) + ": expected an integer in " + std::to_string(low) + ".." + std::to_string(high) +
           ", got \"" + *value + "\"");
    return std::nullopt;
  }

  // The name that is set, or the first.
  std::string name_of(std::span<const char* const> names) const {
    for (const char* name : names) {
      if (name != nullptr && is_set(name)) return name;
    }
    return names.front();
  }

 private:
  const Environment& environment_;
  std::string& mistakes_;
};

// Under sbatch alone the variables describe what srun would start, and this is one process.
bool is_batch_script(const Reader& reader) {
  return reader.is_set("SLURM_JOB_ID") && !reader.is_set("SLURM_STEP_ID") &&
         !reader.is_set("SLURM_STEP_NUM_TASKS");
}

std::optional<Launch> read_launcher(const LauncherRow& row, Reader& reader) {
  if (row.name == "slurm" && is_batch_script(reader)) return std::nullopt;
  const bool has_rank = reader.text(row.rank).has_value();
  const bool has_size = reader.text(row.n_ranks).has_value();
  if (!has_rank && !has_size) return std::nullopt;
  // A Slurm allocation without a step has a number of tasks and no process.
  if (row.name == "slurm" && !has_rank) return std::nullopt;
  Launch launch;
  launch.launcher = row.name;
  if (!has_rank || !has_size) {
    reader.report("environment: expected " + reader.name_of(row.rank) + " and " +
                  reader.name_of(row.n_ranks) + ", got only " +
                  reader.name_of(has_rank ? row.rank : row.n_ranks));
  }
  constexpr int kMost = 1 << 20;
  launch.n_ranks = reader.integer(row.n_ranks, 1, kMost).value_or(kMost);
  launch.rank = reader.integer(row.rank, 0, kMost).value_or(0);
  launch.local_rank = reader.integer(row.local_rank, 0, kMost);
  if (row.n_local_ranks[0] != nullptr) launch.n_local_ranks = reader.integer(row.n_local_ranks, 1, kMost);
  const auto below = [&](std::span<const char* const> small, std::optional<int> value,
                         std::span<const char* const> large, std::optional<int> limit, bool or_equal) {
    if (!value || !limit || *value < *limit || (or_equal && *value == *limit)) return;
    reader.report(reader.name_of(small) + ": expected " + (or_equal ? "at most " : "less than ") +
                  reader.name_of(large) + " = " + std::to_string(*limit) + ", got " + std::to_string(*value));
  };
  below(row.rank, launch.rank, row.n_ranks, launch.n_ranks, false);
  below(row.local_rank, launch.local_rank, row.n_local_ranks, launch.n_local_ranks, false);
  below(row.n_local_ranks, launch.n_local_ranks, row.n_ranks, launch.n_ranks, true);
  for (const char* name : row.job) {
    if (name != nullptr && reader.is_set(name)) launch.job += *reader.text({{name}}) + ".";
  }
  return launch;
}

std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::vector<std::uint16_t> ports_from(int first) {
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < kPorts; ++i) {
    const int port = first + i <= 65535 ? first + i : first - i;
    ports.push_back(static_cast<std::uint16_t>(port));
  }
  return ports;
}

// HOST, HOST:PORT, IPv6, [IPv6]:PORT.
void read_first_host(const std::string& text, Reader& reader, Launch& launch) {
  std::string host = text;
  std::string port;
  if (text.starts_with('[') && text.find(']') != std::string::npos) {
    const std::size_t close = text.find(']');
    host = text.substr(1, close - 1);
    if (close + 1 < text.size()) port = text.substr(close + 1);
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':'));
  }
  int number = 0;
  const char* const end = port.data() + port.size();
  const bool good_port = port.empty() || (port.size() > 1 && port.front() == ':' &&
                                          std::from_chars(port.data() + 1, end, number).ptr == end &&
                                          number > 0 && number < 65536);
  if (host.empty() || !good_port) {
    reader.report("--first-host: expected HOST or HOST:PORT with a port in 1..65535, got \"" + text + "\"");
    return;
  }
  launch.first_host = host;
  if (!port.empty()) launch.ports = {static_cast<std::uint16_t>(number)};
}

void find_first_host(const LaunchOptions& options, Reader& reader, Launch& launch) {
  // Away from the ports that systems give to outgoing connections (32768 and up on Linux).
  launch.ports = ports_from(20000 + static_cast<int>(hash_of(launch.job) % 12000));
  if (!options.first_host.empty()) {
    read_first_host(options.first_host, reader, launch);
    return;
  }
  const bool is_torchrun = launch.launcher == "torchrun";
  const std::optional<std::string> address = reader.text({{"MASTER_ADDR"}});
  const std::optional<int> port = reader.integer({{"MASTER_PORT"}}, 1, 65535);
  if (address) launch.first_host = *address;
  // torchrun itself listens on its port.
  if (address && port) launch.ports = ports_from(is_torchrun ? *port + 1 : *port);
  if (is_torchrun && !(address && reader.is_set("MASTER_PORT"))) {
    reader.report("environment: expected MASTER_ADDR and MASTER_PORT beside RANK and WORLD_SIZE, got " +
                  std::string(address                        ? "no MASTER_PORT"
                              : reader.is_set("MASTER_PORT") ? "no MASTER_ADDR"
                                                             : "neither"));
  }
  if (address) return;
  if (launch.n_local_ranks == launch.n_ranks) {
    launch.first_host = "127.0.0.1";
  } else if (launch.launcher == "slurm") {
    constexpr std::array<const char*, 3> kLists = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
                                                   "SLURM_NODELIST"};
    const std::optional<std::string> list = reader.text(kLists);
    try {
      if (list) launch.first_host = expand_host_list(*list).front();
    } catch (const std::invalid_argument& error) {
      reader.report(reader.name_of(kLists) + ": " + error.what());
    }
  }
}

void check_agreement(const std::vector<Launch>& found, Reader& reader) {
  // Slurm starts mpirun's daemons, and either starts torchrun's agents: their numbers then count these.
  if (found.front().launcher == "torchrun" && reader.is_set("TORCHELASTIC_RUN_ID")) return;
  for (const Launch& other : found) {
    if (other.launcher == "slurm") continue;
    if (other.rank == found.front().rank && other.n_ranks == found.front().n_ranks) continue;
    reader.report("environment: " + found.front().launcher + " says process " +
                  std::to_string(found.front().rank) + " of " + std::to_string(found.front().n_ranks) + ", " +
                  other.launcher + " says process " + std::to_string(other.rank) + " of " +
                  std::to_string(other.n_ranks) + ": say which with --launcher");
  }
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Launch find_launch(const Environment& environment, const LaunchOptions& options) {
  std::string mistakes;
  Reader reader(environment, mistakes);
  std::vector<Launch> found;
  std::string names = "none";
  for (const LauncherRow& row : kLaunchers) {
    names += ", " + std::string(row.name);
    if (!options.launcher.empty() && options.launcher != row.name) continue;
    if (const std::optional<Launch> launch = read_launcher(row, reader)) found.push_back(*launch);
  }
  if (!options.launcher.empty() && options.launcher != "none" && found.empty()) {
    const bool known =
        std::ranges::find(kLaunchers, options.launcher, &LauncherRow::name) != kLaunchers.end();
    reader.report("--launcher: expected " + (known ? "its variables in the environment" : "one of " + names) +
                  ", got \"" + options.launcher + "\"");
  }
  Launch launch;
  if (!found.empty()) {
    check_agreement(found, reader);
    launch = found.front();
    if (launch.n_ranks > 1) find_first_host(options, reader, launch);
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);
  return launch;
}

}  // namespace packsim::microbench
