#include <catch2/catch.hpp>
#include <ctime>

#include "files/file_error.hpp"
#include "scenarios/loader/profiles/read_measurements.hpp"
#include "tests/scenarios/messages.hpp"
#include "tests/scenarios/temp_folder.hpp"

using namespace packsim;

namespace {

const std::string kFirst =
    R"({"packsim_measurements": 1, "source": {"id": "", "gpu": "H100", "provenance": "bench", "details": {"driver": "580", "started": "4:00"}}})"
    "\n";
const std::string kCase =
    R"({"case": "copy kind=device bytes=4096 cache=hot", "library": "cuda", "source": "", "samples_s": [0.003, 0.001, 0.002]})"
    "\n";

MeasurementFile read_text(const std::string& text) {
  const TempFolder folder;
  return read_measurements(folder.write("m.jsonl", text));
}

// The mistakes in a file of these lines, its folder left out.
std::vector<std::string> mistakes(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder.write("m.jsonl", text);
  std::vector<std::string> messages = messages_of([&] { read_measurements(path); });
  for (std::string& message : messages) {
    if (message.starts_with(folder.path())) message = message.substr(folder.path().size() + 1);
  }
  return messages;
}

}  // namespace

TEST_CASE("A measurement file is read whole") {
  const MeasurementFile file = read_text(
      kFirst + kCase +
      R"({"case": "step zero=1 model=x layers=2 gc_layers=0 sp=1 dp=1 packs=1x8", "library": "torch", "source": "", "samples_s": [2, 1], "parts_s": {"forward": [1, 0.5], "backward": [1, 0.5]}, "peak_memory_bytes": 6e10, "flags": ["noisy", "cut"], "note": "n", "details": {"sm_clock_mhz": [1755, 1980]}})"
      "\n"
      R"({"source": {"id": "paper", "gpu": "H100", "provenance": "arXiv", "licence": "CC-BY-4.0"}})"
      "\n"
      R"({"case": "launch_gap", "library": "cuda", "source": "paper", "samples_s": [1e-6], "flags": ["published", "read_off_figure"]})"
      "\n"
      R"({"began": "collective op=all_gather"})"
      "\n"
      R"({"skipped": "collective op=all_gather", "reason": "built without NCCL"})"
      "\n"
      R"({"end": "complete"})"
      "\n");
  CHECK(file.warnings.empty());
  const Measurements& all = file.measurements;
  CHECK(all.complete);
  REQUIRE(all.sources.size() == 2);
  CHECK(all.sources[0].details.at("driver") == "580");
  CHECK(all.sources[1].licence == "CC-BY-4.0");
  REQUIRE(all.rows.size() == 3);
  CHECK(all.rows[0].median_s() == Approx(0.002));
  // Deviations 1, 0, 1 ms: the median is 1 ms, of 2 ms half; times 1.4826.
  CHECK(all.rows[0].relative_spread() == Approx(1.4826 / 2));
  CHECK(all.rows[1].kernel.text() == "step model=x layers=2 gc_layers=0 sp=1 dp=1 zero=1 packs=1x8");
  CHECK(all.rows[1].median_s() == Approx(1.5));
  CHECK(all.rows[1].parts_s.at("forward") == std::vector<double>{1, 0.5});
  CHECK(all.rows[1].peak_memory_bytes == 6e10);
  CHECK(all.rows[1].has_flag("noisy"));
  CHECK(all.rows[2].relative_spread() == 0);
  CHECK(all.source_of(all.rows[2]).provenance == "arXiv");
  REQUIRE(all.skipped.size() == 1);
  CHECK(all.skipped[0].reason == "built without NCCL");
}

TEST_CASE("A last line that a killed run left is ignored with a warning") {
  const MeasurementFile file = read_text(kFirst + kCase + kCase.substr(0, 40));
  CHECK(file.measurements.rows.size() == 1);
  CHECK_FALSE(file.measurements.complete);
  REQUIRE(file.warnings.size() == 1);
  CHECK(file.warnings[0].find("m.jsonl:3: the last line has no end") != std::string::npos);
}

TEST_CASE("A resumed run's source goes with the first one, and the end of the last run counts") {
  const MeasurementFile file = read_text(
      kFirst + kCase + "{\"end\": \"interrupted\"}\n" +
      R"({"source": {"id": "", "gpu": "H100", "provenance": "bench", "details": {"driver": "580", "started": "5:00"}}})"
      "\n" +
      kCase + "{\"end\": \"complete\"}\n");
  CHECK(file.measurements.complete);
  REQUIRE(file.measurements.sources.size() == 1);
  CHECK(file.measurements.sources[0].details.at("driver") == "580");
  CHECK(file.measurements.sources[0].details.at("started") == "4:00; 5:00");
  CHECK(file.measurements.rows.size() == 2);
  CHECK(mistakes(kFirst + R"({"source": {"id": "", "gpu": "A100"}})" + "\n") ==
        std::vector<std::string>{
            R"(m.jsonl:2: /source/gpu: expected "H100", as the source of this id before, got "A100")"});
}

TEST_CASE("A source may say the plan of its steps, as a scenario's parallelism") {
  const std::string first =
      R"({"packsim_measurements": 1, "source": {"gpu": "H100", "plan": {"kernels": "eager", "tp_degree": 2}}})"
      "\n";
  const std::optional<ParallelPlan> plan = read_text(first).measurements.sources[0].plan;
  REQUIRE(plan);
  CHECK(plan->execution.kernels == &kEagerKernels);
  CHECK(plan->tp_degree == 2);
  CHECK(plan->execution.launch_s == kTorchLaunch_s);
  CHECK_FALSE(read_text(kFirst).measurements.sources[0].plan);
  CHECK(mistakes(R"({"packsim_measurements": 1, "source": {"gpu": "H100", "plan": {"loss": "small"}}})"
                 "\n") ==
        std::vector<std::string>{"m.jsonl:1: /source/plan/loss: expected one of plain, upcast, "
                                 "vocabulary_parallel, in_place, fused, got \"small\" (string)"});
  CHECK(mistakes(first + R"({"source": {"gpu": "H100", "plan": {"kernels": "liger", "tp_degree": 2}}})"
                         "\n") ==
        std::vector<std::string>{
            "m.jsonl:2: /source/plan: expected that of the source of this id before, got another"});
}

TEST_CASE("Every mistake of a measurement file is told at once, with its line") {
  const auto row = [](const std::string& samples, const std::string& more = "") {
    return R"({"case": "launch_gap", "library": "cuda", "samples_s": )" + samples + more + "}\n";
  };
  const std::string seconds = "/samples_s: expected at least one number over 0, in seconds, got ";
  CHECK(mistakes(kFirst + row("[0.001, -1]") + row("[0]") + row("[null]") + row("[]") + row("0.1") +
                 row("[1]", R"(, "flags": ["loud"])") + row("[1]", R"(, "source": "nobody")") +
                 row("[1]", R"(, "parts_s": {"forward": [1, 2]})") + row("[1]", R"(, "colour": 1)") +
                 R"({"case": "gemm m=0 n=1", "library": "x", "samples_s": [1]})"
                 "\n"
                 "{\"end\": \"of the world\"}\n"
                 "[]\n"
                 "{}\n") ==
        std::vector<std::string>{
            "m.jsonl:2: " + seconds + "-1 (number)", "m.jsonl:3: " + seconds + "0 (number)",
            "m.jsonl:4: " + seconds + "null", "m.jsonl:5: " + seconds + "[] (array)",
            "m.jsonl:6: " + seconds + "0.1 (number)",
            "m.jsonl:7: /flags: expected some of noisy, throttled, cut, host_bound, recompiled, published, "
            "read_off_figure, got \"loud\" (string)",
            "m.jsonl:8: /source: expected the id of a source of a line before, got \"nobody\"",
            "m.jsonl:9: /parts_s: expected 1 numbers of forward, as of samples_s, got 2",
            "m.jsonl:10: /colour: expected no such key (known: case, library, source, samples_s, parts_s, "
            "peak_memory_bytes, flags, note, details), got 1 (number)",
            "m.jsonl:11: /case: expected a kernel case, got \"gemm m=0 n=1\" (kernel gemm: m: expected an "
            "integer of at least 1, got \"0\"; expected a value of k, got none; expected a value of layout, "
            "got none; expected a value of cache, got none)",
            "m.jsonl:12: /end: expected one of complete, interrupted, got \"of the world\" (string)",
            "m.jsonl:13: top level: expected object, got [] (array)",
            "m.jsonl:14: expected one of the keys source, case, began, skipped, end, got {} (object)"});
}

TEST_CASE("A file that is no measurement file is told so") {
  CHECK(mistakes("") ==
        std::vector<std::string>{"m.jsonl:1: expected a line with \"packsim_measurements\": 1, got none"});
  CHECK(mistakes(kCase).size() >= 2);
  CHECK(mistakes(kFirst + "not json\n").size() == 1);
  CHECK(mistakes(R"({"packsim_measurements": 2, "source": {"gpu": "H100"}})"
                 "\n") ==
        std::vector<std::string>{"m.jsonl:1: /packsim_measurements: expected 1, got 2 (number)"});
  CHECK_THROWS_AS(read_measurements(std::string("/nowhere.jsonl")), FileError);
}

TEST_CASE("Several files are read as one, ids told apart by the file's name") {
  const TempFolder folder;
  const std::vector<std::string> paths = {
      folder.write("a.jsonl", kFirst + kCase + "{\"end\": \"complete\"}\n"),
      folder.write("b.jsonl", kFirst + kCase)};
  const MeasurementFile file = read_measurements(paths);
  REQUIRE(file.measurements.sources.size() == 2);
  CHECK(file.measurements.sources[1].id == "b");
  CHECK(file.measurements.rows[0].source == "");
  CHECK(file.measurements.rows[1].source == "b");
  CHECK_FALSE(file.measurements.complete);
}

TEST_CASE("A hundred thousand rows are read in seconds") {
  std::string text = kFirst;
  for (int i = 0; i < 100'000; ++i) text += kCase;
  const std::clock_t start = std::clock();  // of this process alone, however busy the machine is
  CHECK(read_text(text).measurements.rows.size() == 100'000);
  const double time_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(time_s < 60);  // 3 s; sanitizers are slow
}

TEST_CASE("A key with a line feed does not break a message in two") {
  CHECK(mistakes(R"({"packsim_measurements": 1, "source": {"gpu": "H100", "details": {"a\nb": []}}})"
                 "\n") ==
        std::vector<std::string>{"m.jsonl:1: /source/details: expected texts, got a\\x0ab: [] (array)"});
}
