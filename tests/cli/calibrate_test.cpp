#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "program.hpp"
#include "tests/paths.hpp"

using namespace packsim_test;
using nlohmann::json;

namespace {

const std::string kSource =
    R"({"packsim_measurements": 1, "source": {"id": "", "gpu": "NVIDIA H100 80GB HBM3", "provenance": "made up"}})"
    "\n";

// A kernel that takes 10 us and a nanosecond for every 1 000 bytes: five sizes of a copy.
std::string copies() {
  std::string text = kSource;
  for (const int kilobytes : {1000, 4000, 16000, 64000, 256000}) {
    const double time_s = 10e-6 + kilobytes * 1e-9;
    text += R"({"case": "copy kind=device bytes=)" + std::to_string(1000 * kilobytes) +
            R"( cache=cold", "library": "cuda", "samples_s": [)" + std::to_string(time_s) + "]}\n";
  }
  return text;
}

// Stands for the measuring program: writes its arguments down and ends with an exit code.
void write_fake_microbench(const TemporaryFolder& folder, int exit_code) {
  write_text(folder / "fake",
             "#!/bin/sh\necho \"$@\" > arguments.txt\nexit " + std::to_string(exit_code) + "\n");
  std::filesystem::permissions(folder / "fake", std::filesystem::perms::owner_all);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A hardware profile of the measured H100, with others' collectives, and its steps.
struct MeasuredH100 {
  TemporaryFolder folder;

  MeasuredH100() {
    const ProgramRun fit = run_shell(
        folder, "packsim calibrate fit " + file("h100-kernels") + " '" + packsim_test::source_dir() +
                    "/calibration/data/h100-public-collectives.jsonl' --library collective=nccl-2.27.3 "
                    "--name h100 --hardware hardware.json --missing-from h200-network-public");
    INFO(fit.err);
    REQUIRE(fit.exit_code == 0);
  }

  static std::string file(const std::string& name) {
    return "'" + packsim_test::source_dir() + "/calibration/measured/" + name + ".jsonl'";
  }
  ProgramRun validate(const std::string& options, const std::string& environment = "") const {
    return run_shell(folder, environment + "packsim calibrate validate hardware.json " +
                                 file("h100-steps-held-out") + " " + options);
  }
};

const std::string kInSource = "cd '" + packsim_test::source_dir() + "' && ";

}  // namespace

TEST_CASE(
    "The shipped plans are what `calibrate plan` writes: `make plans` after a change of models or rules") {
  const TemporaryFolder folder;
  for (const std::string name : {"quick", "full"}) {
    const ProgramRun run =
        run_shell(folder, "packsim calibrate plan " + std::string(name == "quick" ? "--quick" : "") +
                              " --out plan.txt");
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    // Not shown in full: it is thousands of lines.
    const bool is_same = read_text(folder / "plan.txt") ==
                         read_text(packsim_test::source_dir() + "/calibration/plans/" + name + ".txt");
    CAPTURE(name);
    CHECK(is_same);
  }
}

TEST_CASE("A plan can be made for a config.json of Hugging Face") {
  const TemporaryFolder folder;
  const ProgramRun run =
      run_shell(folder, "packsim calibrate plan --quick --model " + packsim_test::source_dir() +
                            "/tests/scenarios/hf_configs/llama-3.2-1b.json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  // Its MLP widens 2048 to 8192.
  CHECK(contains(run.out, "n=8192 k=2048 layout=tn cache=cold"));
}

TEST_CASE("A plan can be made for a config.json with experts and a gate of one output") {
  const TemporaryFolder folder;
  const std::string model = packsim_test::source_dir() + "/tests/scenarios/hf_configs/qwen1.5-moe-a2.7b.json";
  for (const std::string size : {"", "--quick"}) {
    const ProgramRun run = run_shell(folder, "packsim calibrate plan " + size + " --model " + model);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    CHECK(contains(run.out, "n=1 k=2048 layout=tn cache=cold"));
    // 4096 tokens x 4 of 60 experts of 1408: 274 tokens an expert.
    CHECK(contains(run.out, "gemm m=274 n=1408 k=2048 layout=tn cache=cold"));
  }
}

TEST_CASE("calibrate run starts the microbenchmark on the plan, and ends as it ends") {
  const TemporaryFolder folder;
  write_text(folder / "plan.txt", "launch_gap\n");
  for (const int code : {0, 3, 130}) {
    write_fake_microbench(folder, code);
    const ProgramRun run = run_shell(
        folder, "packsim calibrate run --program ./fake --plan plan.txt --out m.jsonl -- --noise 0.01");
    CHECK(run.exit_code == code);
    CHECK(read_text(folder / "arguments.txt") == "--plan plan.txt --out m.jsonl --noise 0.01\n");
    CHECK(contains(run.out, "calibrate fit m.jsonl") == (code == 0));
  }
}

TEST_CASE("calibrate run makes a plan where none is given, and says what it would run under a launcher") {
  const TemporaryFolder folder;
  write_fake_microbench(folder, 0);
  const ProgramRun run =
      run_shell(folder,
                "packsim calibrate run --program ./fake --quick --model llama3.1-8b --out m.jsonl "
                "--launcher 'mpirun -n 16' --dry-run");
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "mpirun -n 16 ./fake --plan m.plan.txt --out m.jsonl\n"));
  CHECK_FALSE(std::filesystem::exists(folder / "m.plan.txt"));
  REQUIRE(
      run_shell(folder, "packsim calibrate run --program ./fake --quick --model llama3.1-8b --out m.jsonl")
          .exit_code == 0);
  CHECK(contains(read_text(folder / "m.plan.txt"), "gemm m=4096 n=14336 k=4096 layout=tn cache=cold"));
}

TEST_CASE("calibrate run says where it looked for a microbenchmark that is not there") {
  const TemporaryFolder folder;
  const ProgramRun named = run_shell(folder, "packsim calibrate run --program ./nothing --quick");
  CHECK(named.exit_code == 2);
  CHECK(named.err == "packsim: --program: expected a program, got \"./nothing\"\n");
  const ProgramRun set = run_shell(folder, "PACKSIM_MICROBENCH=/nothing packsim calibrate run --quick");
  CHECK(set.exit_code == 2);
  CHECK(set.err == "packsim: PACKSIM_MICROBENCH: expected a program, got \"/nothing\"\n");
}

TEST_CASE("calibrate fit writes a profile that compare and coverage read") {
  const TemporaryFolder folder;
  write_text(folder / "m.jsonl", copies());
  const ProgramRun fit = run_shell(folder, "packsim calibrate fit m.jsonl --name mine --hardware mine.json");
  INFO(fit.err);
  REQUIRE(fit.exit_code == 0);
  CHECK(json::parse(read_text(folder / "mine.json"))["name"] == "mine");

  const ProgramRun same = run_shell(folder, "packsim calibrate compare mine.json mine.json");
  CHECK(same.exit_code == 0);
  CHECK(contains(same.out, "1.000"));

  const ProgramRun coverage = run_shell(folder,
                                        "packsim calibrate coverage qwen2.5-7b-short-sft-8k mine.json "
                                        "--strategy bfd --plan missing.txt");
  INFO(coverage.err);
  CHECK(coverage.exit_code == 0);
  CHECK(contains(coverage.out, "missing"));
  CHECK(contains(read_text(folder / "missing.txt"), "gemm m="));
}

TEST_CASE("calibrate fit names every wrong line, and reads past a line that was cut off") {
  const TemporaryFolder folder;
  write_text(folder / "bad.jsonl",
             kSource +
                 R"({"case": "copy kind=device bytes=0 cache=cold", "library": "cuda", "samples_s": [1]})"
                 "\n"
                 R"({"case": "launch_gap", "library": "cuda", "samples_s": [-1]})"
                 "\nnot JSON\n"
                 R"({"case": "launch_gap", "library": "cuda", "samples_s": [1e308]})"
                 "\n");
  const ProgramRun bad = run_shell(folder, "packsim calibrate fit bad.jsonl --name x --hardware x.json");
  CHECK(bad.exit_code == 2);
  CAPTURE(bad.err);
  for (const char* place : {"bad.jsonl:2", "bad.jsonl:3", "bad.jsonl: line 4", "bad.jsonl:5"})
    CHECK(contains(bad.err, place));
  CHECK_FALSE(std::filesystem::exists(folder / "x.json"));

  write_text(folder / "torn.jsonl", copies() + R"({"case": "launch_g)");
  const ProgramRun torn = run_shell(folder, "packsim calibrate fit torn.jsonl --name x --hardware x.json");
  CHECK(torn.exit_code == 0);
  CHECK(contains(torn.err, "torn.jsonl"));

  const ProgramRun neither = run_shell(folder, "packsim calibrate fit torn.jsonl --name x");
  CHECK(neither.exit_code == 2);
  CHECK(neither.err == "packsim: expected --hardware FILE, --framework FILE or both, got neither\n");
  const ProgramRun library =
      run_shell(folder, "packsim calibrate fit torn.jsonl --name x --hardware x.json --library gemm");
  CHECK(library.exit_code == 2);
  CHECK(run_shell(folder, "packsim calibrate fit nothing.jsonl --name x --hardware x.json").exit_code == 3);
  const ProgramRun twice =
      run_shell(folder, "packsim calibrate fit torn.jsonl ./torn.jsonl --name x --hardware x.json");
  CHECK(twice.exit_code == 2);
  CHECK(contains(twice.err, "./torn.jsonl: expected every measurement file once"));
}

TEST_CASE("A profile is of one kind of GPU, and goes to a file of its own") {
  const TemporaryFolder folder;
  write_text(folder / "m.jsonl", copies());
  std::string other = copies();
  other.replace(other.find("H100 80GB HBM3"), 14, "H200");
  write_text(folder / "other.jsonl", other);
  const ProgramRun mixed =
      run_shell(folder, "packsim calibrate fit m.jsonl other.jsonl --name x --hardware x.json");
  CHECK(mixed.exit_code == 2);
  CHECK(mixed.err ==
        "packsim: expected measurements of one kind of GPU, got NVIDIA H100 80GB HBM3, NVIDIA H200\n");
  CHECK(run_shell(folder, "packsim calibrate fit m.jsonl --name x --hardware x.json --framework x.json")
            .exit_code == 2);
  CHECK(run_shell(folder, "packsim calibrate fit m.jsonl --name '' --hardware x.json").exit_code == 2);
}

TEST_CASE("Steps that cannot be are named with their lines, all of them") {
  const TemporaryFolder folder;
  const std::string step =
      R"({"case": "step model=llama3.1-8b layers=2 gc_layers=GC sp=1 dp=1 zero=0 packs=1x4096", )"
      R"("library": "torch", "samples_s": [1]})"
      "\n";
  std::string text = kSource;
  for (const std::string gc_layers : {"3", "0", "4"}) {
    text += step;
    text.replace(text.find("GC"), 2, gc_layers);
  }
  write_text(folder / "steps.jsonl", text);
  const ProgramRun run = run_shell(folder, "packsim calibrate validate h100-sxm-public steps.jsonl");
  CAPTURE(run.err);
  CHECK(run.exit_code == 2);
  CHECK(contains(run.err, "steps.jsonl:2: "));
  CHECK_FALSE(contains(run.err, "steps.jsonl:3: "));
  CHECK(contains(run.err, "steps.jsonl:4: "));
}

TEST_CASE("A profile written through a link replaces the file that it names") {
  const TemporaryFolder folder;
  write_text(folder / "m.jsonl", copies());
  write_text(folder / "file.json", "old");
  const ProgramRun run = run_shell(
      folder,
      "ln -s file.json link.json && packsim calibrate fit m.jsonl --name x --hardware link.json --force");
  CHECK(run.exit_code == 0);
  CHECK(std::filesystem::is_symlink(folder / "link.json"));
  CHECK(json::parse(read_text(folder / "file.json"))["name"] == "x");
}

TEST_CASE("Held-out steps are not among those that numbers are fitted to") {
  const TemporaryFolder folder;
  const std::string steps = packsim_test::source_dir() + "/tests/cli/cpu/steps.jsonl";
  const ProgramRun run = run_shell(
      folder, kInSource + "packsim calibrate validate h100-sxm-public " + steps + " --fit " + steps);
  CHECK(run.exit_code == 2);
  CHECK(contains(run.err, "expected steps that are not in the files of --fit"));
  const ProgramRun foreign =
      run_shell(folder, kInSource + "packsim calibrate validate h100-sxm-public " + steps);
  CHECK(foreign.exit_code == 0);
  CHECK(contains(foreign.err, "warning: steps were measured on CPU"));
}

TEST_CASE("A SIGTERM to `calibrate run` reaches the measuring program") {
  const TemporaryFolder folder;
  write_text(folder / "plan.txt", "launch_gap\n");
  write_text(folder / "fake",
             "#!/bin/sh\ntrap 'echo told > told.txt; exit 130' TERM\ntouch started\n"
             "i=0; while [ $i -lt 200 ]; do sleep 0.3; i=$((i + 1)); done\n");
  std::filesystem::permissions(folder / "fake", std::filesystem::perms::owner_all);
  const ProgramRun run =
      run_shell(folder,
                "packsim calibrate run --program ./fake --plan plan.txt --out m.jsonl & pid=$!; "
                "while [ ! -e started ]; do sleep 0.05; done; kill -TERM $pid; wait $pid");
  CHECK(run.exit_code == 130);
  CHECK(read_text(folder / "told.txt") == "told\n");
}

TEST_CASE("A profile that the disk has no room for is the machine's failure; a device stays a device") {
  const TemporaryFolder folder;
  write_text(folder / "m.jsonl", copies());
  const ProgramRun run =
      run_shell(folder, "ln -s /dev/full full && packsim calibrate fit m.jsonl --name x --hardware full");
  CHECK(run.exit_code == 3);
  CHECK(contains(run.err, "full: cannot write: No space left on device"));
  CHECK(std::filesystem::is_symlink(folder / "full"));
}

TEST_CASE("The whole chain on real measurements: kernels of a CPU predict its training steps") {
  const TemporaryFolder folder;
  const std::string data = packsim_test::source_dir() + "/tests/cli/cpu/";
  const std::string profile = folder / "cpu.json";
  const ProgramRun fit =
      run_shell(folder, "packsim calibrate fit " + data + "kernels.jsonl --name cpu --hardware " + profile);
  INFO(fit.err);
  REQUIRE(fit.exit_code == 0);
  const ProgramRun run = run_shell(
      folder, kInSource + "packsim calibrate validate " + profile + " " + data + "steps.jsonl --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const json summary = json::parse(run.out)["kernels_alone"];
  // The steps were measured apart from the kernels and nothing is fitted to them. Their own spread from one
  // run to the next is 5 %.
  CHECK(summary["rows"] == 13);
  CHECK(summary["median_error"].get<double>() < 0.05);
  CHECK(std::abs(summary["worst_error"].get<double>()) < 0.12);
}

TEST_CASE("On an H100, kernels and a framework profile of other steps predict steps and their memory") {
  const MeasuredH100 h100;
  const ProgramRun run = h100.validate("--fit " + MeasuredH100::file("h100-steps-fit") + " --json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.empty());
  const json all = json::parse(run.out);
  const json& times = all["with_framework"];
  CHECK(times["fitted"]["rows"] == 18);
  CHECK(times["left_out"]["rows"] == 18);
  CHECK(times["held_out"]["rows"] == 18);
  CHECK(times["held_out"]["median_error"].get<double>() < 0.02);
  CHECK(times["held_out"]["worst_error"].get<double>() < 0.05);
  CHECK(all["memory"]["held_out"]["rows"] == 18);
  CHECK(all["memory"]["held_out"]["median_error"].get<double>() < 0.05);
  CHECK(all["memory"]["held_out"]["worst_error"].get<double>() < 0.1);
  CHECK(all["framework"]["linear_factor"]["value"].get<double>() == Approx(1).margin(0.05));
  CHECK(all["framework"]["exchange_in_node_factor"]["assumed"] == true);
  const json& row = all["rows"][0];
  CHECK(row["case"].get<std::string>().size() > 600);  // whole, for programs
  CHECK(row["flags"] == json::array());
  CHECK(row["fit_row"] == false);
  CHECK(row["measured_memory_bytes"] == 48626723840);
  CHECK(row["with_framework_memory_error"].get<double>() ==
        Approx(row["with_framework_memory_bytes"].get<double>() / 48626723840 - 1));
}

TEST_CASE("A framework profile's file says of steps what it said where it was fitted") {
  const MeasuredH100 h100;
  const std::string fit_steps = MeasuredH100::file("h100-steps-fit");
  const ProgramRun fit =
      run_shell(h100.folder, "packsim calibrate fit " + fit_steps +
                                 " --name mine --on hardware.json --framework framework.json");
  INFO(fit.err);
  REQUIRE(fit.exit_code == 0);
  const ProgramRun given = h100.validate("--framework framework.json --json");
  CHECK(given.exit_code == 0);
  CHECK(given.err.empty());
  const ProgramRun fitted = h100.validate("--fit " + fit_steps + " --json");
  const json given_json = json::parse(given.out);
  const json fitted_json = json::parse(fitted.out);
  CHECK(given_json["with_framework"]["held_out"]["rows"] == 18);
  CHECK(given_json["with_framework"]["fitted"]["rows"] == 0);
  for (std::size_t i = 0; i < 18; ++i) {
    for (const char* key : {"with_framework_s", "with_framework_memory_bytes"}) {
      CHECK(given_json["rows"][i][key].get<double>() ==
            Approx(fitted_json["rows"][i][key].get<double>()).epsilon(1e-4));
    }
  }
  CHECK(h100.validate("--framework framework.json --fit " + fit_steps).exit_code == 2);
  const ProgramRun foreign = h100.validate("--framework deepspeed-ulysses-h100");
  CHECK(foreign.exit_code == 0);
  CHECK(contains(foreign.err, "stands on the hardware profile "));
  CHECK(contains(foreign.err, "executes steps differently from the measured ones"));
}

TEST_CASE("Steps are shown in words, in lines that fit the terminal") {
  const MeasuredH100 h100;
  const std::string fit = "--fit " + MeasuredH100::file("h100-steps-fit");
  for (const std::size_t columns : {200, 120, 80}) {
    const ProgramRun run = h100.validate(fit, "COLUMNS=" + std::to_string(columns) + " ");
    REQUIRE(run.exit_code == 0);
    std::istringstream lines(run.out);
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
    CAPTURE(columns);
    CHECK(widest <= std::min<std::size_t>(columns, 120));
    CHECK(contains(run.out, "with framework, held out"));
    CHECK(contains(run.out, "peak memory, left out"));
    CHECK(contains(run.out, "spread") == (columns >= 120));
  }
  const ProgramRun wide = h100.validate(fit, "COLUMNS=120 ");
  CHECK(contains(
      wide.out,
      "\nllama3.1-8b, 4 of 32 layers, 2 checkpointed, 1 pack of 2,030 tokens (3 documents)\n  fitted "));
  CHECK(contains(wide.out, "\nllama3.1-8b, 8 of 32 layers, 8 checkpointed, 2 packs of 2,048 tokens each "));
  CHECK(contains(wide.out, "3 packs of 4,096, 4,096, 3,281 tokens (4 documents)\n"));
  CHECK(contains(wide.out,
                 "\nnote: 2 of 36 steps are flagged throttled, 16 noisy: their clocks or times moved during "
                 "the samples\n"));
  CHECK_FALSE(contains(wide.out, "packs="));
}

TEST_CASE("A step's groups are named where it has any, and of many packs the first and the last") {
  const TemporaryFolder folder;
  write_text(folder / "steps.jsonl",
             kSource + R"({"case": "step model=llama3.1-8b layers=32 gc_layers=0 sp=4 dp=2 zero=3 )"
                       R"(packs=1x4096/1x2048/1x1024/1x512", "library": "torch", "samples_s": [1]})"
                       "\n");
  const ProgramRun run =
      run_shell(folder, "COLUMNS=120 packsim calibrate validate h100-sxm-public steps.jsonl");
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(contains(
      run.out,
      "\nllama3.1-8b, 32 layers, sp 4, dp 2, ZeRO 3, 4 packs of 4,096, .., 512 tokens (4 documents)\n"));
}

TEST_CASE("Every shipped hardware profile is what its data give", "[plain]") {
  const TemporaryFolder folder;
  const ProgramRun run = run_shell(
      folder, "cp -r '" + packsim_test::source_dir() + "/calibration' . && mkdir -p bin && ln -s " +
                  packsim_test::program() + " bin/packsim && calibration/data/fit_profiles.sh bin/packsim");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const std::string profiles = packsim_test::source_dir() + "/calibration/profiles/hardware";
  int n_profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(profiles)) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    const bool is_same =
        read_text(folder / ("calibration/profiles/hardware/" + name)) == read_text(entry.path().string());
    CHECK(is_same);
    ++n_profiles;
  }
  CHECK(n_profiles >= 3);
}
