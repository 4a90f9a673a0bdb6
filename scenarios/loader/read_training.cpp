#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {

TrainingSpec read_training(JsonReader reader) {
  TrainingSpec training;
  training.tokens_per_iteration = reader.integer("tokens_per_iteration", 1, kMostTokensPerIteration);
  training.epochs = reader.integer("epochs", 1, kMostEpochs, 1);
  training.zero_stage = reader.integer("zero_stage", 0, 3, 1);
  return training;
}

}  // namespace packsim
