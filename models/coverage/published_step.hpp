#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/kernels/documents.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Where steps were published, and what is known of the stack that all of them ran on.
struct PublishedSource {
  std::string id;
  std::string citation;
  std::string url;
  std::string licence;
  std::string stack;  ///< software, settings and machines; empty where no step of the source is usable
  std::string mfu_convention;
  std::vector<std::string> contradictions;  ///< of the source, beside those of its rows
};

/// Equal micro-batches, one after another.
struct PublishedMicroBatches {
  int n_micro_batches = 0;
  Documents documents;  ///< of one of them
};

/// What the publisher prints of a step. One of the first two, at least.
struct PublishedFigures {
  std::optional<double> step_time_s;
  std::optional<double> tokens_per_s;  ///< of all GPUs
  std::optional<double> mfu_fraction;  ///< by PublishedSource::mfu_convention
  std::optional<double> parameters;    ///< as the publisher counts them, for this sequence length
};

/// A published optimizer step of which the model, the GPUs, the parallel plan and the documents are known.
struct PublishedStep {
  std::string id;      ///< "dgxc_llama3.1/8b-8192-64gpu"
  std::string source;  ///< id of a PublishedSource
  bool added = false;  ///< found beside the rows of the survey (validation/README.md)
  Cluster cluster;     ///< with its nodes, of which the plan uses every GPU
  Transformer model;
  std::vector<std::string> model_differs;  ///< what the run had and `model` cannot say
  ParallelPlan plan;
  std::vector<PublishedMicroBatches> micro_batches;  ///< of every data-parallel rank
  PublishedFigures published;
  /// The time to compare with: as published, or else tokens_per_step() over the published tokens a second.
  double step_time_s = 0;
  std::vector<std::string> missing;  ///< facts of the stack that are not published; empty: described
  std::vector<std::string>
      contradictions;  ///< where the publisher's own figures disagree, and what was taken
  std::string note;

  /// Tokens of a step over all data-parallel ranks.
  double tokens_per_step() const;
  /// Forward and backward flop of one step over all GPUs: three times the forward pass, attention over half
  /// the square of each document, and nothing for recomputation.
  double model_flop() const;
};

/// A published step that cannot be replayed, with every reason.
struct UnusableStep {
  std::string id;
  std::string source;
  std::string model;  ///< in the publisher's words
  int n_gpus = 0;
  std::vector<std::string> reasons;
  std::vector<std::string> contradictions;
};

/// Steps that were looked at, whose licence keeps their figures out of this repository.
struct NotShippedSteps {
  std::string citation;
  int n_rows = 0;
  std::string reason;
};

struct PublishedSteps {
  std::vector<PublishedSource> sources;
  std::vector<PublishedStep> steps;
  std::vector<UnusableStep> unusable;
  std::vector<NotShippedSteps> not_shipped;
};

inline double PublishedStep::tokens_per_step() const {
  double tokens = 0;
  for (const PublishedMicroBatches& batch : micro_batches)
    tokens += static_cast<double>(batch.n_micro_batches) * static_cast<double>(batch.documents.tokens());
  return tokens * plan.dp_degree();
}

inline double PublishedStep::model_flop() const {
  double pairs = 0;
  for (const PublishedMicroBatches& batch : micro_batches)
    pairs += batch.n_micro_batches * batch.documents.squared_tokens();
  pairs *= plan.dp_degree();
  return model.training_flop(tokens_per_step(), pairs * model.attention_flop_per_pair());
}

}  // namespace packsim
