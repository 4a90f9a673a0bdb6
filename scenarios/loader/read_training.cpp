#include "scenarios/loader/readers.hpp"

namespace packsim {

TrainingSpec read_training(JsonReader reader) {
  constexpr std::int64_t kMostTokensPerIteration = 1'000'000'000'000;
  constexpr int kMostEpochs = 10'000;
  // ZeRO 2 scatters gradients in every micro-batch and ZeRO 3 gathers weights, which holds the ranks together
  // there.
  constexpr int kExchangesInEveryMicroBatch = 2;
  const std::vector<std::string> barriers = {"iteration", "micro_batch"};

  TrainingSpec training;
  training.tokens_per_iteration = reader.integer("tokens_per_iteration", 1, kMostTokensPerIteration);
  training.epochs = reader.integer("epochs", 1, kMostEpochs, 1);
  training.zero_stage = reader.integer("zero_stage", 0, 3, 1);
  const std::size_t barrier =
      reader.one_of("barrier", barriers, training.zero_stage >= kExchangesInEveryMicroBatch ? 1 : 0);
  training.barrier = barrier == 0 ? Barrier::iteration : Barrier::micro_batch;
  return training;
}

}  // namespace packsim
