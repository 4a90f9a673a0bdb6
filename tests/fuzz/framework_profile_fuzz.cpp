// Any bytes as a framework profile: the factors of an accepted one are finite, above 0 where they are
// factors, and those of the file.

#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/loader/load_scenario.hpp"
#include "tests/fuzz/input_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  using packsim::testing::expect;
  static const packsim::testing::InputFile file;
  file.write(data, n_bytes);
  packsim::FrameworkProfile profile;
  try {
    profile = packsim::load_profile(file.path(), {});
  } catch (const packsim::ScenarioError& error) {
    packsim::testing::check_messages(error);
    return 0;
  }
  std::string_view text(reinterpret_cast<const char*>(data), n_bytes);
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto root = nlohmann::json::parse(text);
  const packsim::FrameworkFactors& factors = profile.factors;
  const auto of_file = [&](const char* key, double value) {
    expect(std::isfinite(value) && value >= 0, "factors are finite");
    expect(root["fitted"][key].get<double>() == value, "a factor is that of the file");
  };
  of_file("linear_factor", factors.linear_factor);
  of_file("attention_factor", factors.attention_factor);
  of_file("exchange_in_node_factor", factors.exchange_in_node_factor);
  of_file("exchange_between_factor", factors.exchange_between_factor);
  of_file("micro_batch_s", factors.micro_batch_s);
  of_file("step_s", factors.step_s);
  of_file("reserved_bytes", factors.reserved_bytes);
  expect(factors.linear_factor > 0 && factors.attention_factor > 0, "factors are above 0");
  expect(profile.fitted_on.least_gpus >= 1 && profile.fitted_on.least_gpus <= profile.fitted_on.most_gpus,
         "a range of GPUs");
  expect(root["name"] == profile.name && root["hardware"] == profile.hardware, "names are those of the file");
  for (std::size_t k = 0; k < profile.log_covariance.size(); ++k)
    expect(std::isfinite(profile.log_covariance[k]), "covariances are finite");
  return 0;
}
