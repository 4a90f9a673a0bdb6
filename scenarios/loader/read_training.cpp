#include "packing/options/limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {

TrainingSpec read_training(JsonReader reader) {
  constexpr int kMostEpochs = 10'000;
  TrainingSpec training;
  training.tokens_per_iteration = reader.integer("tokens_per_iteration", 1, kMostTokensPerIteration);
  training.epochs = reader.integer("epochs", 1, kMostEpochs, 1);
  training.zero_stage = reader.integer("zero_stage", 0, 3, 1);
  return training;
}

}  // namespace packsim
