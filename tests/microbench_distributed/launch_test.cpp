#include "calibration/microbench/distributed/processes/launch.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>

namespace {

using Catch::Matchers::Contains;
using packsim::microbench::Environment;
using packsim::microbench::find_launch;
using packsim::microbench::Launch;

Environment of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
}

std::string mistakes_of(const std::map<std::string, std::string>& variables) {
  try {
    find_launch(of(variables));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Without a launcher the run is one process") {
  const Launch launch = find_launch(of({{"MASTER_ADDR", "left-over"}}));
  CHECK(launch.launcher == "none");
  CHECK(launch.rank == 0);
  CHECK(launch.n_ranks == 1);
}

TEST_CASE("torchrun's variables are read, and its own port is left to it") {
  const Launch launch = find_launch(of({{"RANK", "9"},
                                        {"WORLD_SIZE", "16"},
                                        {"LOCAL_RANK", "1"},
                                        {"LOCAL_WORLD_SIZE", "8"},
                                        {"MASTER_ADDR", "gpu01"},
                                        {"MASTER_PORT", "29500"},
                                        {"TORCHELASTIC_RUN_ID", "run"}}));
  CHECK(launch.launcher == "torchrun");
  CHECK(launch.rank == 9);
  CHECK(launch.n_ranks == 16);
  CHECK(launch.host == "gpu01");
  CHECK(launch.port == 29501);
}

TEST_CASE("Open MPI on one host meets on the loopback device") {
  const Launch launch = find_launch(of({{"OMPI_COMM_WORLD_RANK", "3"},
                                        {"OMPI_COMM_WORLD_SIZE", "4"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                        {"PMIX_NAMESPACE", "job7"}}));
  CHECK(launch.launcher == "open_mpi");
  CHECK(launch.rank == 3);
  CHECK(launch.host == "127.0.0.1");
  CHECK(launch.job == "job7");
}

TEST_CASE("Open MPI on several hosts is told the first one") {
  std::map<std::string, std::string> variables = {{"OMPI_COMM_WORLD_RANK", "3"},
                                                  {"OMPI_COMM_WORLD_SIZE", "4"},
                                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  CHECK(mistakes_of(variables) ==
        "environment: expected MASTER_ADDR, the host of process 0, beside OMPI_COMM_WORLD_RANK, as several "
        "hosts take part; got none");
  variables["MASTER_ADDR"] = "node1";
  CHECK(find_launch(of(variables)).host == "node1");
  variables["MASTER_PORT"] = "700";
  CHECK(find_launch(of(variables)).port == 700);
}

TEST_CASE("Two jobs without MASTER_PORT have ports of their own, the same in all of their processes") {
  const auto port = [](const char* rank, const char* job) {
    return find_launch(of({{"OMPI_COMM_WORLD_RANK", rank},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                           {"PMIX_NAMESPACE", job}}))
        .port;
  };
  CHECK(port("0", "one") == port("3", "one"));
  CHECK(port("0", "one") != port("0", "two"));
}

TEST_CASE("PMI's variables are read") {
  const Launch launch = find_launch(of({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}}));
  CHECK(launch.launcher == "pmi");
  CHECK(launch.rank == 1);
  CHECK(launch.host == "127.0.0.1");
}

TEST_CASE("A Slurm step meets on the first host of its list") {
  const Launch launch = find_launch(of({{"SLURM_JOB_ID", "42"},
                                        {"SLURM_STEP_ID", "0"},
                                        {"SLURM_PROCID", "5"},
                                        {"SLURM_NTASKS", "99"},
                                        {"SLURM_STEP_NUM_TASKS", "8"},
                                        {"SLURM_LOCALID", "1"},
                                        {"SLURM_JOB_NODELIST", "other[1-9]"},
                                        {"SLURM_STEP_NODELIST", "gpu[017-018]"}}));
  CHECK(launch.launcher == "slurm");
  CHECK(launch.rank == 5);
  CHECK(launch.n_ranks == 8);
  CHECK(launch.host == "gpu017");
  CHECK(launch.port >= 20000);
  CHECK(launch.port < 32768);
}

TEST_CASE("The first host of a Slurm node list is its name with the first number of each bracket") {
  const auto [list, first] =
      GENERATE(table<std::string, std::string>({{"one", "one"},
                                                {"b,a[2],a1", "b"},
                                                {"gpu[001-003,007],login1", "gpu001"},
                                                {"n[9,3]", "n9"},
                                                {"r[1-2]n[01-02]x", "r1n01x"},
                                                {"dgx-[1-2].cluster", "dgx-1.cluster"}}));
  CAPTURE(list);
  std::map<std::string, std::string> variables = {
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_NODELIST", list}};
  CHECK(find_launch(of(variables)).host == first);
  for (const char* wrong : {",a", "gpu[1-3", "gpu[]"}) {
    variables["SLURM_NODELIST"] = wrong;
    CHECK_THAT(mistakes_of(variables),
               Contains("SLURM_NODELIST: expected hosts such as gpu[001-003,007], got"));
  }
}

TEST_CASE("MPI inside a Slurm allocation meets on its first host") {
  const Environment environment = of({{"PMI_RANK", "1"},
                                      {"PMI_SIZE", "2"},
                                      {"SLURM_JOB_ID", "42"},
                                      {"SLURM_STEP_NODELIST", "gpu018"},
                                      {"SLURM_JOB_NODELIST", "gpu[017-018]"}});
  CHECK(find_launch(environment).host == "gpu017");
}

TEST_CASE("A Slurm batch script without srun is one process") {
  CHECK(find_launch(of({{"SLURM_JOB_ID", "42"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})).n_ranks == 1);
}

TEST_CASE("mpirun under Slurm and torchrun under either count as they were started") {
  std::map<std::string, std::string> variables = {
      {"SLURM_JOB_ID", "42"}, {"SLURM_STEP_ID", "0"},        {"SLURM_PROCID", "1"},
      {"SLURM_NTASKS", "2"},  {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  CHECK(find_launch(of(variables)).launcher == "open_mpi");
  variables.merge(std::map<std::string, std::string>{{"RANK", "12"},
                                                     {"WORLD_SIZE", "16"},
                                                     {"MASTER_ADDR", "a"},
                                                     {"MASTER_PORT", "1"},
                                                     {"TORCHELASTIC_RUN_ID", "run"}});
  CHECK(find_launch(of(variables)).rank == 12);
}

TEST_CASE("Variables that are half set, no numbers or out of range are all named") {
  CHECK_THAT(mistakes_of({{"RANK", "1"}}),
             Contains("WORLD_SIZE") && Contains("got only RANK") && Contains("MASTER_ADDR and MASTER_PORT"));
  CHECK_THAT(mistakes_of({{"PMI_SIZE", "4"}}), Contains("got only PMI_SIZE"));
  CHECK_THAT(mistakes_of({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}),
             Contains("PMI_RANK: expected less than PMI_SIZE = 4, got 4"));
  const std::string all = mistakes_of({{"RANK", "-1"},
                                       {"WORLD_SIZE", "two"},
                                       {"LOCAL_WORLD_SIZE", "none"},
                                       {"MASTER_ADDR", "a"},
                                       {"MASTER_PORT", "70000"}});
  CHECK_THAT(all, Contains("RANK: expected an integer") && Contains("got \"-1\"") &&
                      Contains("WORLD_SIZE: expected an integer") && Contains("got \"two\"") &&
                      Contains("LOCAL_WORLD_SIZE: expected an integer") && Contains("got \"none\"") &&
                      Contains("MASTER_PORT: expected an integer in 1..65535, got \"70000\""));
  CHECK_THAT(mistakes_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_NODELIST", "gpu[1-"}}),
             Contains("SLURM_NODELIST: expected hosts"));
}

TEST_CASE("Launchers that contradict each other are refused") {
  const std::map<std::string, std::string> variables = {
      {"RANK", "0"},        {"WORLD_SIZE", "1"},           {"MASTER_ADDR", "a"},
      {"MASTER_PORT", "1"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  CHECK_THAT(mistakes_of(variables), Contains("torchrun says process 0 of 1") &&
                                         Contains("open_mpi says process 3 of 4") &&
                                         Contains("unset the variables of the one that is not meant"));
}
