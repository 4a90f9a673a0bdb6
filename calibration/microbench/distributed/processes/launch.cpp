#include "calibration/microbench/distributed/processes/launch.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace packsim::microbench {
namespace {

// Variables of one meaning: the first that is set counts.
using Names = std::vector<const char*>;

struct LauncherRow {
  std::string_view name;
  Names rank;
  Names n_ranks;
  Names n_local_ranks;  // processes of this node
  Names job;
};

// Sources: PyTorch "torchrun" documentation; Open MPI FAQ "environmental variables"; MPICH and Intel MPI
// process managers; srun manual, "output environment variables".
const std::array<LauncherRow, 4> kLaunchers = {{
    {"torchrun", {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_WORLD_SIZE"}, {"TORCHELASTIC_RUN_ID"}},
    {"open_mpi",
     {"OMPI_COMM_WORLD_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"pmi", {"PMI_RANK"}, {"PMI_SIZE"}, {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}, {"SLURM_JOB_ID"}},
    {"slurm", {"SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, {}, {"SLURM_JOB_ID"}},
}};
class EnvironmentReader {
 public:
  explicit EnvironmentReader(const Environment& environment) : environment_(environment) {}

  void report(const std::string& mistake) { mistakes_ += (mistakes_.empty() ? "" : "\n") + mistake; }
  const std::string& mistakes() const { return mistakes_; }

  std::optional<std::string> text(const Names& names) const {
    for (const char* name : names) {
      if (const std::optional<std::string> value = environment_(name); value && !value->empty()) return value;
    }
    return std::nullopt;
  }

  bool is_set(const Names& names) const { return text(names).has_value(); }

  // The name that is set, or the first.
  std::string name_of(const Names& names) const {
    for (const char* name : names) {
      if (is_set({name})) return name;
    }
    return names.front();
  }

  std::optional<int> integer(const Names& names, int low, int high) {
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

 private:
  const Environment& environment_;
  std::string mistakes_;
};

bool was_started_by(const LauncherRow& row, const EnvironmentReader& reader) {
  if (row.name != "slurm") return reader.is_set(row.rank) || reader.is_set(row.n_ranks);
  // The variables under sbatch alone describe what srun would start, and this is one process.
  return reader.is_set(row.rank) && (!reader.is_set({"SLURM_JOB_ID"}) || reader.is_set({"SLURM_STEP_ID"}) ||
                                     reader.is_set({"SLURM_STEP_NUM_TASKS"}));
}

Launch read_launcher(const LauncherRow& row, EnvironmentReader& reader) {
  Launch launch{.launcher = std::string(row.name), .job = reader.text(row.job).value_or("")};
  if (!reader.is_set(row.rank) || !reader.is_set(row.n_ranks))
    reader.report("environment: expected " + reader.name_of(row.rank) + " and " +
                  reader.name_of(row.n_ranks) + ", got only " +
                  reader.name_of(reader.is_set(row.rank) ? row.rank : row.n_ranks));
  constexpr int kMost = 1 << 20;
  launch.n_ranks = reader.integer(row.n_ranks, 1, kMost).value_or(kMost);
  launch.rank = reader.integer(row.rank, 0, kMost).value_or(0);
  if (launch.rank >= launch.n_ranks)
    reader.report(reader.name_of(row.rank) + ": expected less than " + reader.name_of(row.n_ranks) + " = " +
                  std::to_string(launch.n_ranks) + ", got " + std::to_string(launch.rank));
  if (reader.integer(row.n_local_ranks, 1, kMost) == launch.n_ranks) launch.host = "127.0.0.1";
  return launch;
}

// The first of a Slurm node list: "gpu[001-003,007],login1" gives gpu001. Empty where that is none.
std::string first_of_nodes(std::string_view list) {
  std::string host;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const std::size_t close = list.find(']', at);
    const std::string_view numbers = list.substr(at + 1, close - at - 1);
    const std::string_view first = numbers.substr(0, numbers.find_first_of("-,"));
    if (close == std::string_view::npos || first.empty()) return "";
    host += first;
    at = close;
  }
  return host;
}

// Away from the ports that systems give to outgoing connections (32768 and up on Linux).
int port_of_job(const std::string& job) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return 20000 + static_cast<int>(hash % 12000);
}

void find_process_0(const LauncherRow& row, EnvironmentReader& reader, Launch& launch) {
  const std::optional<std::string> address = reader.text({"MASTER_ADDR"});
  const std::optional<int> port = reader.integer({"MASTER_PORT"}, 1, 65535);
  const bool is_torchrun = row.name == "torchrun";
  // torchrun itself listens on its port.
  const int own_port = is_torchrun && port ? (*port < 65535 ? *port + 1 : *port - 1) : port.value_or(0);
  launch.port = static_cast<std::uint16_t>(port ? own_port : port_of_job(launch.job));
  if (is_torchrun && !(address && reader.is_set({"MASTER_PORT"}))) {
    const std::string found = reader.is_set({"MASTER_PORT"}) ? "no MASTER_ADDR" : "neither";
    reader.report("environment: expected MASTER_ADDR and MASTER_PORT beside RANK and WORLD_SIZE, got " +
                  (address ? "no MASTER_PORT" : found));
    return;
  }
  // mpirun's own step leaves out the host that it runs on.
  const Names lists = row.name == "slurm"
                          ? Names{"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}
                          : Names{"SLURM_JOB_NODELIST"};
  if (address) {
    launch.host = *address;
  } else if (const std::optional<std::string> nodes = reader.text(lists); launch.host.empty() && nodes) {
    launch.host = first_of_nodes(*nodes);
    if (launch.host.empty())
      reader.report(reader.name_of(lists) + ": expected hosts such as gpu[001-003,007], got \"" + *nodes +
                    "\"");
  } else if (launch.host.empty()) {
    reader.report("environment: expected MASTER_ADDR, the host of process 0, beside " +
                  reader.name_of(row.rank) + ", as several hosts take part; got none");
  }
}

void check_agreement(const std::vector<Launch>& found, EnvironmentReader& reader) {
  // Slurm starts mpirun's daemons, and either starts torchrun's agents: their numbers then count these.
  if (found.front().launcher == "torchrun" && reader.is_set({"TORCHELASTIC_RUN_ID"})) return;
  for (const Launch& other : found) {
    if (other.launcher == "slurm") continue;
    if (other.rank == found.front().rank && other.n_ranks == found.front().n_ranks) continue;
    reader.report("environment: " + found.front().launcher + " says process " +
                  std::to_string(found.front().rank) + " of " + std::to_string(found.front().n_ranks) + ", " +
                  other.launcher + " says process " + std::to_string(other.rank) + " of " +
                  std::to_string(other.n_ranks) + ": unset the variables of the one that is not meant");
  }
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Launch find_launch(const Environment& environment) {
  EnvironmentReader reader(environment);
  std::vector<Launch> found;
  const LauncherRow* started_by = nullptr;
  for (const LauncherRow& row : kLaunchers) {
    if (!was_started_by(row, reader)) continue;
    if (started_by == nullptr) started_by = &row;
    found.push_back(read_launcher(row, reader));
  }
  if (started_by == nullptr) return {};
  check_agreement(found, reader);
  Launch launch = found.front();
  if (launch.n_ranks > 1) find_process_0(*started_by, reader, launch);
  if (!reader.mistakes().empty()) throw std::invalid_argument(reader.mistakes());
  return launch;
}

}  // namespace packsim::microbench
