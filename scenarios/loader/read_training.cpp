#include "models/state_traffic.hpp"
#include "scenarios/loader/readers.hpp"
#include "scenarios/training_keys.hpp"

namespace packsim {

TrainingSpec read_training(JsonReader reader) {
  TrainingSpec training;
  training.tokens_per_iteration =
      reader.integer(kTokensPerIterationKey.name, kTokensPerIterationKey.least, kTokensPerIterationKey.most);
  training.epochs = static_cast<int>(
      reader.integer(kEpochsKey.name, kEpochsKey.least, kEpochsKey.most, kEpochsKey.default_integer));
  training.zero_stage = reader.integer("zero_stage", 0, kLastZeroStage, training.zero_stage);
  return training;
}

}  // namespace packsim
