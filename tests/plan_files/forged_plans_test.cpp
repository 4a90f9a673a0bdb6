// Every promise of docs/plan_files.md, broken in every plan that makes it, with true checksums: each forgery
// is refused with the promise named, in little time and memory.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>

#include "tests/plan_files/all_forgeries.hpp"

namespace packsim::testing {
using Catch::Contains;

TEST_CASE("A forged plan with true checksums is refused with the promise that it breaks") {
  const std::vector<ForgeryRule> rules = all_rules();
  std::map<std::string, int> n_forged;  // plans of each rule
  int n = 0;
  for (const MakePlan& how : base_plans()) {
    const Bytes whole = make_plan(how).bytes();
    CAPTURE(how.strategy, how.n_samples, policy_name(kOverLongNames, how.over_long), how.normaliser);
    REQUIRE(refusal_of(whole) == "accepted");
    for (const ForgeryRule& rule : rules) {
      Forgery plan(whole);
      if (!rule.forge(plan)) continue;
      rehash(plan.file);
      CAPTURE(rule.name);
      CHECK_THAT(refusal_of(plan.file), Contains(rule.expected));
      ++n_forged[rule.name];
      ++n;
    }
  }
  for (const ForgeryRule& rule : rules) {
    CAPTURE(rule.name);
    CHECK(n_forged[rule.name] > 0);
  }
  CHECK(n >= 1000);
}

namespace {

// A plan that says more than it has room for. Returns the file.
struct HostilePlan {
  std::string name;
  std::function<Bytes()> make;
};

Bytes with(const MakePlan& how, const std::function<void(Forgery&)>& change) {
  Forgery plan(make_plan(how).bytes());
  change(plan);
  rehash(plan.file);
  return plan.file;
}

std::vector<HostilePlan> hostile_plans() {
  const auto fact = [](const char* key, std::int64_t value) {
    return [=] { return with({}, [&](Forgery& plan) { plan.set_fact(key, value); }); };
  };
  const auto facts_text = [](const std::string& text) {
    return [=] {
      return with({}, [&](Forgery& plan) {
        resize_section(plan.file, plan_sections::kFacts, text.size());
        std::memcpy(plan.file.data() + section_of(plan.file, plan_sections::kFacts).offset_bytes, text.data(),
                    text.size());
      });
    };
  };
  std::string deep = "{\"seed\": ";
  deep.append(1 << 19, '[');
  deep.append(1 << 19, ']');
  deep.resize((1 << 20) - 1);
  deep += "}";
  return {
      {"2^30 GPUs", fact("n_gpus", 1 << 30)},
      {"2^31 epochs", fact("epochs", 2147483647)},
      {"2^32 samples", fact("n_samples", std::int64_t{1} << 32)},
      {"2^63 tokens", fact("n_tokens", 9223372036854775807)},
      {"2^63 dropped tokens", fact("dropped_tokens", 9223372036854775807)},
      {"2^31 tokens in a pack of its own",
       [] {
         return with({.over_long = OverLong::own_pack, .longest_tokens = 150},
                     [](Forgery& plan) { plan.length(0) = 2147483647; });
       }},
      {"10^9 samples, nearly all of them empty",
       [] {
         return with({.over_long = OverLong::split, .longest_tokens = 150}, [](Forgery& plan) {
           plan.set_fact("n_samples", 1'000'000'000);
           plan.set_fact("empty_samples", 1'000'000'000 - 60);
         });
       }},
      {"each pack on 2^20 GPUs in 30,000 rounds",
       [] {
         return with({.strategy = "megatron_hybrid_cp", .n_samples = 1}, [](Forgery& plan) {
           constexpr std::size_t kPacks = 30'000;
           plan.set_fact("n_gpus", 1 << 20);
           plan.group(0).sp_degree = 1 << 20;
           plan.group(0).cp_degree = 1;
           resize_section(plan.file, plan_sections::kPlaced, kPacks);
           resize_section(plan.file, plan_sections::kWeights, kPacks);
           for (std::size_t i = 0; i < kPacks; ++i)
             plan.placed(i) = {.pack = 0, .first_gpu = 0, .group = 0, .round = static_cast<std::uint16_t>(i)};
           for (std::size_t i = 0; i < plan.before->iterations.size(); ++i)
             plan.iteration(i) = {.first_placed = 0, .n_placed = kPacks};
         });
       }},
      {"30,000 iterations on 2^20 GPUs",
       [] {
         return with({}, [](Forgery& plan) {
           constexpr std::uint32_t kPacks = 30'000;
           plan.set_fact("n_gpus", 1 << 20);
           resize_section(plan.file, plan_sections::kPlaced, kPacks);
           resize_section(plan.file, plan_sections::kWeights, kPacks);
           resize_section(plan.file, plan_sections::kIterations, kPacks);
           for (std::uint32_t i = 0; i < kPacks; ++i) {
             plan.placed(i) = {.pack = 0, .first_gpu = 0, .group = 0, .round = 0};
             plan.iteration(i) = {.first_placed = i, .n_placed = 1};
           }
         });
       }},
      {"30,000 iterations of the same 30,000 packs",
       [] {
         return with({}, [](Forgery& plan) {
           constexpr std::uint32_t kPacks = 30'000;
           resize_section(plan.file, plan_sections::kPlaced, kPacks);
           resize_section(plan.file, plan_sections::kWeights, kPacks);
           resize_section(plan.file, plan_sections::kIterations, kPacks);
           for (std::uint32_t i = 0; i < kPacks; ++i) {
             plan.placed(i) = {.pack = 0, .first_gpu = 0, .group = 0, .round = static_cast<std::uint16_t>(i)};
             plan.iteration(i) = {.first_placed = 0, .n_placed = kPacks};
           }
         });
       }},
      {"60,000 epochs of the same 60,000 packs",
       [] {
         return with({.strategy = "megatron_hybrid_cp", .n_samples = 1}, [](Forgery& plan) {
           constexpr std::uint32_t kPacks = 60'000;
           plan.set_fact("epochs", kPacks);
           resize_section(plan.file, plan_sections::kPlaced, kPacks);
           resize_section(plan.file, plan_sections::kWeights, kPacks);
           resize_section(plan.file, plan_sections::kIterations, kPacks);
           for (std::uint32_t i = 0; i < kPacks; ++i) {
             plan.placed(i) = {.pack = 0, .first_gpu = 0, .group = 0, .round = static_cast<std::uint16_t>(i)};
             plan.iteration(i) = {.first_placed = 0, .n_placed = kPacks};
           }
         });
       }},
      {"arrays in arrays", facts_text(deep)},
      {"facts of more than a megabyte", facts_text("{\"seed\": \"" + std::string(1 << 20, 'a') + "\"}")},
      {"facts of many small values", facts_text("[" + std::string(1 << 19, '0') + "]")},
  };
}

// Runs in a process of its own, so that its limits are not those of other tests. 0: all are refused in time.
int refuse_hostile_plans(const std::vector<std::pair<std::string, Bytes>>& plans) {
  const auto seconds = [] {
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  int n_wrong = 0;
  for (const auto& [name, file] : plans) {
    const double begin_s = seconds();
    std::string refusal;
    try {
      refusal = refusal_of(file);
    } catch (const std::bad_alloc&) {
      refusal = "accepted: more than 100 MB";
    }
    const double took_s = seconds() - begin_s;
    if (refusal.starts_with("x.plan: ") && took_s < 1) continue;
    std::fprintf(stderr, "%s: %.2f s, %s\n", name.c_str(), took_s, refusal.substr(0, 200).c_str());
    ++n_wrong;
  }
  return n_wrong;
}

std::size_t address_space_bytes() {
  std::size_t n_pages = 0;
  std::ifstream("/proc/self/statm") >> n_pages;
  return n_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

// Sanitizers reserve more addresses than any limit leaves.
TEST_CASE("A hostile plan is refused within a second and 100 MB", "[plain]") {
  std::vector<std::pair<std::string, Bytes>> plans;
  for (const HostilePlan& plan : hostile_plans()) plans.emplace_back(plan.name, plan.make());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit = {.rlim_cur = address_space_bytes() + 100'000'000, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(100);
    alarm(60);  // instead of never
    _exit(refuse_hostile_plans(plans));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace packsim::testing
