#include "scenarios/loader/readers.hpp"

namespace packsim {

FrameworkProfile read_profile(JsonReader reader) {
  reader.integer("format", 1, 1);
  FrameworkProfile profile;
  profile.name = reader.string("name");
  profile.gpu = reader.string("gpu");
  profile.source = reader.string("source");
  profile.model = reader.string("model");
  profile.n_gpus = static_cast<int>(reader.integer("n_gpus", 1, 1 << 24));
  profile.zero_stage = static_cast<int>(reader.integer("zero_stage", 0, 3));
  reader.string("description", "");  // for people

  JsonReader fitted = reader.object("fitted");
  profile.linear_flop_per_s = fitted.positive("linear_flop_per_s");
  profile.attention_flop_per_s = fitted.positive("attention_flop_per_s");
  profile.intra_node_bytes_per_s = fitted.positive("intra_node_bytes_per_s");
  profile.inter_node_bytes_per_s = fitted.positive("inter_node_bytes_per_s");
  profile.micro_batch_s = fitted.number("micro_batch_s", 0);
  profile.iteration_s = fitted.number("iteration_s", 0);
  profile.reserved_bytes = fitted.number("reserved_bytes", 0);
  profile.logits_bytes_per_vocab_entry = fitted.number("logits_bytes_per_vocab_entry", 0);

  // How the numbers came about, in whatever form tells it best.
  reader.object("provenance").allow_any_keys();
  return profile;
}

}  // namespace packsim
