#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/framework_factors.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// What the file of a framework profile says about its fit, in addition to the fitted numbers.
struct FitProvenance {
  struct Row {
    std::string table;  ///< "T18"
    std::int64_t pack_tokens = 0;
    SequenceParallelism sequence = {};
    std::optional<double> left_out_s;  ///< the step time that a fit without this row predicts
  };
  /// Each table has the document length with which its packs were priced.
  std::map<std::string, double> document_tokens;
  std::vector<Row> rows;
  /// Each fold (fold_of()) has the factors of a fit without its steps.
  std::map<std::string, FrameworkFactors> without;
};

/// Throws ScenarioError if the file is not a framework profile, and FileError if it cannot be read.
FitProvenance read_fit_provenance(const std::string& path);

}  // namespace packsim
