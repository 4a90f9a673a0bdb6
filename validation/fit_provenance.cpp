#include "validation/fit_provenance.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/json/problems.hpp"

namespace packsim {
namespace {

FitProvenance::Row read_row(const Json& json) {
  FitProvenance::Row row;
  row.table = json.value("table", "");
  row.pack_tokens = json.value("pack_tokens", std::int64_t{0});
  row.sequence.ulysses = json.value("sp_degree", 0);
  if (json.contains("left_out_s")) row.left_out_s = json.at("left_out_s").get<double>();
  return row;
}

}  // namespace

FitProvenance read_fit_provenance(const std::string& path) {
  Problems problems;
  const JsonDocument document = read_json(path, problems);
  problems.throw_if_any();
  FitProvenance fit;
  const Json& root = *document.root;
  try {
    const Json& provenance = root.at("provenance");
    const Json beside = provenance.value("fitted_beside", Json::object());
    const Json lengths = beside.value("effective_document_tokens", Json::object());
    for (const auto& [table, tokens] : lengths.items()) fit.document_tokens[table] = tokens.get<double>();
    for (const Json& row : provenance.value("results", Json::array())) fit.rows.push_back(read_row(row));
    for (const Json& fold : provenance.value("left_out", Json::array())) {
      FrameworkFactors& factors = fit.without[fold.at("steps").get<std::string>()];
      factors.linear_factor = fold.at("linear_factor").get<double>();
      factors.attention_factor = fold.at("attention_factor").get<double>();
    }
  } catch (const Json::exception& error) {
    throw ScenarioError(std::vector<std::string>{path + ": /provenance: " + error.what()});
  }
  return fit;
}

}  // namespace packsim
