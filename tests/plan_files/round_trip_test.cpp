// What is written is what is read, for every strategy.

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "files/file_bytes.hpp"
#include "files/file_error.hpp"
#include "files/write_file.hpp"
#include "packing/loss/loss_weights.hpp"
#include "plan_files/plan_view.hpp"
#include "plan_files/restore_plan.hpp"
#include "tests/plan_files/made_plans.hpp"

namespace packsim::testing {
namespace {

bool same_packs(const PackSet& one, const PackSet& other) {
  return one.items == other.items && one.offsets == other.offsets;
}

void check_same(const MadePlan& made, const RestoredPlan& restored) {
  CHECK(restored.packing.strategy == made.packing.strategy);
  CHECK(restored.packing.capacities_tokens == made.packing.capacities_tokens);
  CHECK(restored.packing.counts == made.packing.counts);
  CHECK(restored.packing.pieces == made.packing.pieces);
  CHECK(std::ranges::equal(restored.packing.lengths_tokens, made.packing.lengths_tokens));
  REQUIRE(restored.packing.groups.size() == made.packing.groups.size());
  for (std::size_t g = 0; g < made.packing.groups.size(); ++g)
    CHECK(same_packs(restored.packing.groups[g], made.packing.groups[g]));
  CHECK(restored.packing.planned.placed == made.packing.planned.placed);
  CHECK(restored.packing.planned.iterations == made.packing.planned.iterations);
  CHECK(restored.schedule.placed == made.schedule.placed);
  CHECK(restored.schedule.iterations == made.schedule.iterations);
  CHECK(restored.schedule.n_gpus == made.schedule.n_gpus);
  CHECK(restored.schedule.epochs == made.schedule.epochs);
  CHECK(restored.schedule.dropped_packs == made.schedule.dropped_packs);
  CHECK(restored.schedule.repeated_packs == made.schedule.repeated_packs);
  CHECK(restored.schedule.dropped_tokens == made.schedule.dropped_tokens);
  CHECK(restored.schedule.repeated_tokens == made.schedule.repeated_tokens);
  CHECK(restored.schedule.curriculum_iterations == made.schedule.curriculum_iterations);
  for (std::size_t g = 0; g < made.schedule.groups.size(); ++g) {
    CHECK(restored.schedule.groups[g].gpus_per_pack == made.schedule.groups[g].gpus_per_pack);
    CHECK(restored.schedule.groups[g].gc_layers == made.schedule.groups[g].gc_layers);
    CHECK(restored.schedule.groups[g].n_dp_ranks == made.schedule.groups[g].n_dp_ranks);
    CHECK(restored.schedule.groups[g].micro_batches_per_rank ==
          made.schedule.groups[g].micro_batches_per_rank);
  }
}

std::string new_folder() {
  std::string path = std::filesystem::temp_directory_path() / "packsim-plan-XXXXXX";
  REQUIRE(::mkdtemp(path.data()) != nullptr);
  return path;
}

}  // namespace

TEST_CASE("Every strategy's plan is read as it was written, and written again to the same bytes") {
  for (const Strategy& strategy : strategies()) {
    if (strategy.chooses_groups) continue;  // needs prices
    for (const OverLong over_long : {OverLong::error, OverLong::drop, OverLong::truncate, OverLong::split}) {
      CAPTURE(strategy.name, policy_name(kOverLongNames, over_long));
      const MadePlan made = make_plan({.strategy = strategy.name,
                                       .over_long = over_long,
                                       .longest_tokens = over_long == OverLong::error ? 100 : 150,
                                       .says_loss_tokens = over_long == OverLong::split});
      const std::vector<std::byte> bytes = made.bytes();
      const PlanView plan = PlanView::of_bytes(bytes);
      const RestoredPlan restored = restore_plan(plan);
      check_same(made, restored);
      CHECK(std::ranges::equal(plan->loss_tokens, made.loss_tokens));
      const std::vector<std::byte> again = plan_bytes({.packing = restored.packing,
                                                       .schedule = restored.schedule,
                                                       .sequence = restored.sequence,
                                                       .loss_tokens = plan->loss_tokens,
                                                       .facts = plan->facts});
      CHECK(again == bytes);
    }
  }
}

TEST_CASE("A plan has the weights of the normaliser that it names") {
  const MadePlan made = make_plan({.says_loss_tokens = true});
  const auto losses = count_losses(made.packing, LossTokens(made.packing, made.loss_tokens));
  for (const Normaliser& normaliser : normalisers()) {
    PlanContent content = made.content();
    content.facts.normaliser = normaliser.name;
    const PlanView plan = PlanView::of_bytes(plan_bytes(content));
    CHECK(plan->facts.normaliser == normaliser.name);
    CHECK(std::ranges::equal(plan->weights, loss_weights(made.schedule, losses, normaliser)));
  }
  CHECK(PlanView::of_bytes(made.bytes())->facts.normaliser == "stable");
}

TEST_CASE("Facts are read as they were written, text that is no UTF-8 made readable") {
  PlanFacts facts;
  facts.version = "1.2";
  facts.name = "hbp \"32k\"";
  facts.strategy = "hbp";
  facts.scenario = "a\xFF";
  facts.order = PackOrder::balanced;
  facts.last_iteration = LastIteration::shorten;
  facts.padding = Padding::multiple;
  facts.over_long = OverLong::split;
  facts.empty = Empty::keep;
  facts.pad_multiple_tokens = 64;
  facts.seed = 4294967295U;
  facts.counts.n_tokens = std::int64_t{1} << 60;
  PlanFacts read = facts_from_json(facts_to_json(facts));
  CHECK(read.scenario == "a\xEF\xBF\xBD");
  read.scenario = facts.scenario;
  CHECK(read == facts);
}

TEST_CASE("A plan without samples is a plan, and so is one of empty ones, and of thousands between others") {
  for (const MakePlan& how :
       {MakePlan{.n_samples = 0}, MakePlan{.n_samples = 60, .one_empty_in = 1},
        MakePlan{.strategy = "hbp", .n_samples = 60, .over_long = OverLong::split, .one_empty_in = 1},
        MakePlan{.strategy = "hbp", .n_samples = 9000, .over_long = OverLong::split, .one_empty_in = 1},
        MakePlan{.strategy = "hbp",
        .n_samples = 20000,
        .over_long = OverLong::split,
        .longest_tokens = 150,
        .one_empty_in = 2}}) {
    const MadePlan made = make_plan(how);
    const PlanView plan = PlanView::of_bytes(made.bytes());
    check_same(made, restore_plan(plan));
  }
}

TEST_CASE("A plan of three groups is read as it was written") {
  const MadePlan made = make_plan({.strategy = "hbp", .n_samples = 120, .gpus_per_pack = 2, .n_groups = 3});
  REQUIRE(made.packing.groups.size() == 3);
  const PlanView plan = PlanView::of_bytes(made.bytes());
  check_same(made, restore_plan(plan));
}

TEST_CASE("A curriculum and what last iterations drop or repeat are read as they were written") {
  for (const LastIteration last : {LastIteration::drop, LastIteration::repeat, LastIteration::shorten}) {
    const MadePlan made = make_plan({.n_samples = 90, .last_iteration = last, .curriculum_iterations = 2});
    const PlanView plan = PlanView::of_bytes(made.bytes());
    check_same(made, restore_plan(plan));
    CHECK(plan->facts.curriculum_iterations == 2);
  }
}

TEST_CASE("The hash of lengths is that of their bytes, as xxh128sum prints it") {
  // printf '\x01\0\0\0\x02\0\0\0' | xxh128sum
  CHECK(hash_of_lengths(std::vector<std::int32_t>{1, 2}) == "9cb99f86ae035f85657ce6e8d8ff657f");
}

TEST_CASE("A saved plan is mapped, and stays as it is for its reader when another takes its place") {
  const std::string folder = new_folder();
  const std::string path = folder + "/a.plan";
  const std::vector<std::byte> first = make_plan({.seed = 1}).bytes();
  const std::vector<std::byte> second = make_plan({.seed = 2}).bytes();
  write_file(path, first);
  const PlanView mapped = PlanView::open(path);
  write_file(path, second);
  CHECK(std::ranges::equal(mapped.bytes(), first));
  CHECK(std::ranges::equal(PlanView::open(path).bytes(), second));
  CHECK(mapped.content_hash() != PlanView::open(path).content_hash());
  // Nothing else is left in the folder.
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("A plan that was read stays as it is when the file is cut, which its next reader is told") {
  const std::string folder = new_folder();
  const std::string path = folder + "/a.plan";
  const std::vector<std::byte> bytes = make_plan({}).bytes();
  write_file(path, bytes);
  const PlanView read = PlanView::open(path);
  const RegularFile file(path);
  std::filesystem::resize_file(path, 100);
  CHECK(std::ranges::equal(read.bytes(), bytes));
  read.check();
  // What was there when it was opened is there no longer.
  CHECK_THROWS_WITH(FileBytes(file), Catch::Contains(path + ": expected " + std::to_string(bytes.size()) +
                                                     " bytes, as when it was opened, got 100"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("A plan that is mapped is the plan that is read") {
  const std::string folder = new_folder();
  const std::string path = folder + "/a.plan";
  const std::vector<std::byte> bytes = make_plan({}).bytes();
  write_file(path, bytes);
  const RegularFile file(path);
  CHECK(std::ranges::equal(FileBytes(file, 0).bytes(), bytes));
  CHECK(std::ranges::equal(FileBytes(file).bytes(), bytes));
  std::filesystem::remove_all(folder);
}

TEST_CASE("A plan that cannot be mapped is refused by name", "[plain]") {
  const std::string folder = new_folder();
  const std::string path = folder + "/a.plan";
  write_file(path, make_plan({}).bytes());
  const RegularFile file(path);
  const pid_t child = fork();  // the limit is for its process
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit no_more{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    if (setrlimit(RLIMIT_AS, &no_more) != 0) _exit(100);
    try {
      const FileBytes mapped(file, 0);
    } catch (const FileError& error) {
      _exit(error.what() == path + ": Cannot allocate memory" ? 0 : 102);
    }
    _exit(101);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("While a file is cut and written again, a plan is the whole file or an error, and never a signal") {
  const std::string folder = new_folder();
  const std::string path = folder + "/a.plan";
  const std::vector<std::byte> bytes = make_plan({.n_samples = 3000}).bytes();
  write_file(path, bytes);
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    while (!is_over) {
      std::filesystem::resize_file(path, 5000);
      std::ofstream(path, std::ios::binary | std::ios::in)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
  });
  int n_refused = 0;
  for (int i = 0; i < 2000; ++i) {
    try {
      const PlanView plan = PlanView::open(path);
      plan.check();
      if (!std::ranges::equal(plan.bytes(), bytes)) FAIL("another plan");
    } catch (const PlanFileError&) {
      ++n_refused;
    } catch (const std::runtime_error&) {
      ++n_refused;
    }
  }
  is_over = true;
  writer.join();
  CHECK(n_refused > 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("What is no regular file is refused at once, with the path") {
  const std::string folder = new_folder();
  const std::string pipe = folder + "/pipe.plan";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string expected = ": expected a regular file, got ";
  CHECK_THROWS_WITH(PlanView::open(pipe), pipe + expected + "a pipe");
  CHECK_THROWS_WITH(PlanView::open("/dev/zero"), "/dev/zero" + expected + "a device");
  CHECK_THROWS_WITH(PlanView::open(folder), folder + expected + "a folder");
  const std::string socket_path = folder + "/s.plan";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  CHECK_THROWS_WITH(PlanView::open(socket_path), Catch::Contains(socket_path));
  ::close(socket);
  std::filesystem::remove_all(folder);
}

TEST_CASE("What the system refuses is said with the path, and leaves nothing behind") {
  const std::string folder = new_folder();
  using Catch::Contains;
  CHECK_THROWS_WITH(PlanView::open(folder + "/none.plan"),
                    Contains("none.plan") && Contains("No such file or directory"));
  std::filesystem::remove_all(folder);
}

}  // namespace packsim::testing
