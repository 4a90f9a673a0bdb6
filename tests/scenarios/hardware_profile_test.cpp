#include <catch2/catch.hpp>

#include "files/read_file.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/scenarios/messages.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

HardwareProfile example() {
  HardwareProfile profile;
  profile.name = "test \"gpu\"";
  profile.gpu = "GPU";
  profile.description = "µ";
  profile.sources = {{"", "GPU", "bench", "", {{"driver", "580"}}},
                     {"paper", "GPU", "arXiv", "CC-BY-4.0", {}}};
  const FitQuality quality{
      .n_rows = 9, .n_samples = 90, .n_outliers = 1, .rms = 0.01, .left_out_rms = 0.02, .max_error = 0.03};
  profile.curves = {{.key = "copy kind=device cache=cold",
                     .library = "cuda",
                     .size_name = "bytes",
                     .points = {{2048, 1.23456789e-5, 0.01, 1}, {4096, 1.3e-5, 0.01, 2}},
                     .fixed_s = {"fixed_s", 1e-5, 1e-7},
                     .size_per_s = {"size_per_s", 3e12, 1e10},
                     .straight = true,
                     .end_error = 0.1,
                     .quality = quality,
                     .sources = {"", "paper"}}};
  profile.models = {{.key = "collective op=all_gather nodes=1",
                     .library = "nccl",
                     .numbers = {{"fixed_s", 1e-5, 1e-6}, {"gpu_s", 0, 0}, {"bytes_per_s", 2.5e11, 1e9}},
                     .box = {{"gpus", 2, 8}, {"bytes", 1024, 1e9}},
                     .end_error = 0.2,
                     .quality = quality,
                     .sources = {""}}};
  profile.unused = {{"collective op=all_gather", "nccl-old", 4, "library nccl has more rows"}};
  return profile;
}

HardwareProfile profile_of(const std::string& text) {
  const TempFolder folder;
  return read_hardware_profile(folder.write("p.json", text));
}

std::vector<std::string> profile_mistakes(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder.write("p.json", text);
  std::vector<std::string> messages = messages_of([&] { read_hardware_profile(path); });
  for (std::string& message : messages) {
    if (message.starts_with(path)) message = message.substr(path.size() + 2);
  }
  return messages;
}

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  const std::size_t at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_part.size(), new_part);
}

}  // namespace

TEST_CASE("A hardware profile written, read and written again gives the same bytes") {
  const std::string text = hardware_profile_json(example());
  const HardwareProfile again = profile_of(text);
  CHECK(hardware_profile_json(again) == text);
  CHECK(again.curves[0].points[1] == example().curves[0].points[1]);
  CHECK(again.curves[0].straight);
  CHECK(again.models == example().models);
  CHECK(again.unused == example().unused);
  CHECK(again.sources[0].details.at("driver") == "580");
  // One curve a line.
  CHECK(text.find("\n    {\"key\": \"copy kind=device cache=cold\", ") != std::string::npos);
}

TEST_CASE("A profile of no curves is one, of no sources is not") {
  HardwareProfile profile = example();
  profile.curves.clear();
  profile.models.clear();
  profile.unused.clear();
  CHECK(profile_of(hardware_profile_json(profile)).curves.empty());
  profile.sources.clear();
  CHECK(profile_mistakes(hardware_profile_json(profile)).size() == 1);
}

TEST_CASE("A corrupted hardware profile is refused with its place") {
  const std::string good = hardware_profile_json(example());
  REQUIRE(profile_mistakes(good).empty());
  CHECK(profile_mistakes(with(good, "[4096, 1.3e-05", "[1024, 1.3e-05")) ==
        std::vector<std::string>{"/curves/0/points: expected sizes that rise, over 2048, got "
                                 "[1024,1.3e-05,0.01,2] (array)"});
  CHECK(profile_mistakes(with(good, "[4096, 1.3e-05", "[2048, 1.3e-05")).size() == 1);
  CHECK(
      profile_mistakes(with(good, "[4096, 1.3e-05", "[4096, 1.2e-05")) ==
      std::vector<std::string>{"/curves/0/points: expected times that do not fall, from 1.23457e-05 on, got "
                               "[4096,1.2e-05,0.01,2] (array)"});
  CHECK(profile_mistakes(with(good, "[4096, 1.3e-05", "[4096, 0")).size() == 1);
  CHECK(profile_mistakes(with(good, "\"size\", \"time_s\"", "\"size\", \"time_ms\"")) ==
        std::vector<std::string>{"/point: expected [\"size\",\"time_s\",\"relative_error\",\"n_rows\"], got "
                                 "[\"size\",\"time_ms\",\"relative_error\",\"n_rows\"] (array)"});
  CHECK(profile_mistakes(with(good, "\"size\": \"bytes\"", "\"size\": \"miles\"")).size() == 1);
  CHECK(profile_mistakes(with(good, "\"straight\"", "\"strait\"")).size() == 2);
  CHECK(profile_mistakes(with(good, "[\"\", \"paper\"]", "[\"\", \"other\"]")) ==
        std::vector<std::string>{
            "/curves/0/sources: expected ids of sources of this file, got \"other\" (string)"});
  CHECK(profile_mistakes(with(good, "copy kind=device", "copyy kind=device")).size() == 1);
  CHECK(profile_mistakes(with(good, "\"bytes_per_s\": [2.5e+11", "\"bytes_per_s\": [0")).size() == 1);
  CHECK(profile_mistakes(with(good, "\"gpus\": [2, 8]", "\"gpus\": [8, 2]")).size() == 1);
  CHECK(profile_mistakes(with(good, "\"gpu_s\": [0, 0], ", "")).size() == 1);
  CHECK(profile_mistakes("{}").size() >= 5);
  // All at once.
  CHECK(
      profile_mistakes(with(with(good, "\"format\": 1", "\"format\": 2"), "[4096, 1.3e-05", "[1024, 1.3e-05"))
          .size() == 2);
}

TEST_CASE("A hardware profile is found by name, or told to be missing") {
  const TempFolder folder;
  folder.write("calibration/profiles/hardware/mine.json", hardware_profile_json(example()));
  CHECK(load_hardware_profile("mine", {.root = folder.path()}).gpu == "GPU");
  const std::vector<std::string> messages =
      messages_of([&] { load_hardware_profile("yours", {.root = folder.path()}); });
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].starts_with("hardware profile: expected the name of a hardware profile (known: mine)"));
}

TEST_CASE("A hardware profile may name another one for the kernels that it has none of") {
  const TempFolder folder;
  const auto write = [&](const std::string& name, const std::string& gpu, const std::string& other) {
    HardwareProfile profile = example();
    profile.name = name;
    profile.gpu = gpu;
    profile.missing_kernels_from = other;
    folder.write("calibration/profiles/hardware/" + name + ".json", hardware_profile_json(profile));
  };
  folder.write("models/gpus/known.json",
               read_file(packsim_test::source_dir() + "/models/gpus/h100-sxm-80gb.json"));
  const DataPaths data{.root = folder.path()};
  const std::string h100 = "NVIDIA H100 80GB HBM3";
  const auto mistakes = [&](const std::string& name) {
    std::vector<std::string> messages = messages_of([&] { load_hardware_profile(name, data); });
    for (std::string& message : messages) message = message.substr(message.find(": ") + 2);
    return messages;
  };
  write("other", h100, "");
  write("mine", "GPU", "other");
  const HardwareProfile mine = load_hardware_profile("mine", data);
  REQUIRE(mine.stand_in != nullptr);
  CHECK(mine.stand_in->name == "other");
  CHECK(mine.stand_in->data_sheet.has_value());
  CHECK(load_hardware_profile("other", data).stand_in == nullptr);

  // A stand-in may have one of its own.
  write("far", h100, "");
  write("near", h100, "far");
  write("chain", "GPU", "near");
  const HardwareProfile chain = load_hardware_profile("chain", data);
  REQUIRE(chain.stand_in != nullptr);
  REQUIRE(chain.stand_in->stand_in != nullptr);
  CHECK(chain.stand_in->stand_in->name == "far");
  const std::string place = "/missing_kernels_from: expected a";
  write("unknown", "GPU", "mine");
  CHECK(mistakes("unknown") ==
        std::vector<std::string>{place +
                                 " profile of a GPU with a file in models/gpus, got mine, measured on GPU"});
  write("round", h100, "about");
  write("about", h100, "round");
  CHECK(mistakes("round") ==
        std::vector<std::string>{place + "nother profile, got round, which names this one"});
  write("lost", "GPU", "none-such");
  CHECK(mistakes("lost").size() == 1);
  write("self", h100, "self");
  write("self-by-path", h100, "./self-by-path.json");
  CHECK(mistakes("self") ==
        std::vector<std::string>{
            "/missing_kernels_from: expected another profile, got self, which is this profile itself"});
  CHECK(mistakes("self-by-path") ==
        std::vector<std::string>{"/missing_kernels_from: expected another profile, got "
                                 "./self-by-path.json, which is this profile itself"});
}
