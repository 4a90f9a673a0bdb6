#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/framework_factors.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// What the file of a framework profile says of the fit besides the numbers.
struct FitProvenance {
  struct Row {
    std::string table;  ///< "T18"
    std::int64_t pack_tokens = 0;
    SequenceParallelism sequence = {};
    std::optional<double> left_out_s;
  };
  std::map<std::string, double> document_tokens;  ///< by table: the length that its packs were priced with
  std::vector<Row> rows;
  /// By model: the factors of a fit without its rows.
  std::map<std::string, FrameworkFactors> without_model;
};

/// Throws ScenarioError where the file is not one, FileError.
FitProvenance read_fit_provenance(const std::string& path);

}  // namespace packsim
