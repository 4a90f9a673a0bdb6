// Any request to the C library: it is refused with a message that says what was expected, or what comes back
// is a partition of the samples by a naive check.

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "packing/c_api/packsim.h"
#include "tests/fuzz/expect.hpp"
#include "tests/fuzz/naive_partition.hpp"

namespace {

using packsim::testing::expect;

// Takes values from the front of the input, and zeros behind its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t n_bytes) : data_(data), left_(n_bytes) {}

  std::uint8_t byte() { return left_ == 0 ? std::uint8_t{0} : (--left_, *data_++); }
  // Of every size, and mostly small.
  std::int64_t integer() {
    const int n_bytes = std::array{0, 1, 1, 1, 2, 2, 3, 8}[byte() % 8];
    std::uint64_t value = 0;
    for (int i = 0; i < n_bytes; ++i) value = value << 8U | byte();
    return static_cast<std::int64_t>(value);
  }
  const char* one_of(const std::vector<const char*>& words) { return words[byte() % words.size()]; }
  bool empty() const { return left_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

std::vector<const char*> strategy_names() {
  std::vector<const char*> names = {"no such strategy", nullptr};
  for (std::int64_t i = 0; i < packsim_n_strategies(); ++i) names.push_back(packsim_strategy(i)->name);
  return names;
}

std::vector<const char*> option_names() {
  std::vector<const char*> names = {"no such option", nullptr};
  for (std::int64_t i = 0; i < packsim_n_strategies(); ++i) {
    for (std::int64_t o = 0; o < packsim_strategy_n_options(i); ++o)
      names.push_back(packsim_strategy_option(i, o)->name);
  }
  return names;
}

// What a request points to.
struct Arrays {
  std::vector<std::int64_t> capacities_tokens;
  std::vector<std::int32_t> sp_degrees;
  std::vector<packsim_option> options;
  std::vector<std::string> texts;
};

// The fields that the first byte of each pair chooses.
void set_fields(Bytes& bytes, packsim_pack_request& request) {
  const std::array<std::int64_t*, 13> fields = {&request.longest_tokens,
                                                &request.window_samples,
                                                &request.n_gpus,
                                                &request.tokens_per_iteration,
                                                &request.threshold_tokens,
                                                &request.max_samples_per_pack,
                                                &request.batch_samples,
                                                &request.linear_weight_tokens,
                                                &request.outlier_queues,
                                                &request.rounds,
                                                &request.outlier_threshold_tokens,
                                                &request.batch_tokens,
                                                &request.samples_per_iteration};
  for (int n = bytes.byte() % 8; n > 0; --n) {
    std::int64_t& field = *fields[bytes.byte() % fields.size()];
    field = bytes.integer();
  }
  const std::uint8_t flags = bytes.byte();
  request.shuffle = flags & 1;
  request.greedy_fill = flags >> 1 & 1;
  request.padded_batches = flags >> 2 & 1;
  request.seed = bytes.byte();
}

void set_arrays(Bytes& bytes, Arrays& arrays, packsim_pack_request& request) {
  static const std::vector<const char*> kOptions = option_names();
  for (int n = bytes.byte() % 5; n > 0; --n) arrays.capacities_tokens.push_back(bytes.integer());
  if (bytes.byte() % 8 != 0) std::ranges::sort(arrays.capacities_tokens);
  for (int n = bytes.byte() % 4; n > 0; --n)
    arrays.sp_degrees.push_back(static_cast<std::int32_t>(bytes.integer()));
  const int n_options = bytes.byte() % 4;
  for (int i = 0; i < n_options; ++i) arrays.texts.push_back(std::to_string(bytes.integer()));
  for (const std::string& text : arrays.texts)
    arrays.options.push_back({bytes.one_of(kOptions), bytes.byte() % 4 == 0 ? "true" : text.c_str()});
  request.capacities_tokens = arrays.capacities_tokens.data();
  request.n_capacities = std::ssize(arrays.capacities_tokens);
  request.sp_degrees = arrays.sp_degrees.data();
  request.n_sp_degrees = std::ssize(arrays.sp_degrees);
  request.options = arrays.options.data();
  request.n_options = n_options;
}

// The most rounds that an option or the field asks for, of isf and of hbp.
std::int64_t most_rounds(const Arrays& arrays, const packsim_pack_request& request) {
  std::int64_t rounds = request.rounds;
  for (std::size_t i = 0; i < arrays.options.size(); ++i) {
    const char* name = arrays.options[i].name;
    if (name != nullptr && std::strcmp(name, "rounds") == 0)
      rounds = std::max<std::int64_t>(rounds, std::stoll(arrays.texts[i]));
  }
  return std::clamp<std::int64_t>(rounds, 1, 1'000'000);
}

// Requests that take long are left out: more than 2 000 pieces, or 2 000 000 pieces times GPUs, and over
// 80 000 rounds of isf, or fewer for many pieces. wlb, verl_kk, trl_lpt and megatron_dynamic_cp look at every
// rank or pack for every piece, O(N B) or more: with sanitizers, verl_kk took 41 s by the clock for 100 000
// pieces on 255 GPUs. Where each piece fills a pack, that is the square of the pieces: 2 s for 10 900, and 27
// s with libFuzzer's counters. verl_kk tries one number of micro-batches after another: 460 of them, and 5 s,
// for 3 000 pieces of half and a quarter of a pack. isf shuffles in each round, by a generator of 624 words:
// 592 137 rounds of 6 pieces took 8 s with the counters.
bool takes_long(const Arrays& arrays, const std::vector<std::int32_t>& lengths,
                const packsim_pack_request& request) {
  constexpr std::int64_t kMostPieces = 2'000;
  constexpr std::int64_t kMostPiecesOnGpus = 2'000'000;
  constexpr std::int64_t kMostShuffled = 50'000'000;
  constexpr std::int64_t kGeneratorWords = 624;
  std::int64_t n_tokens = 0;
  for (const std::int32_t length : lengths) n_tokens += std::max(length, 0);
  std::int64_t n_gpus = std::clamp<std::int64_t>(request.n_gpus, 1, kMostPiecesOnGpus);
  for (const std::int32_t degree : arrays.sp_degrees) n_gpus = std::max<std::int64_t>(n_gpus, degree);
  const std::int64_t rounds = most_rounds(arrays, request);
  return std::ranges::any_of(arrays.capacities_tokens, [&](std::int64_t capacity) {
    const std::int64_t piece =
        request.longest_tokens > 0 ? std::min(capacity, request.longest_tokens) : capacity;
    const std::int64_t n_pieces = piece > 0 ? n_tokens / piece + std::ssize(lengths) : 0;
    return n_pieces > kMostPieces || n_pieces * n_gpus > kMostPiecesOnGpus ||
           rounds * (n_pieces + kGeneratorWords) > kMostShuffled;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n_bytes) {
  static const std::vector<const char*> kStrategies = strategy_names();
  Bytes bytes(data, n_bytes);
  Arrays arrays;
  packsim_pack_request request;
  expect(packsim_pack_request_init(&request, sizeof request) == PACKSIM_OK, "defaults");
  request.strategy = bytes.one_of(kStrategies);
  request.over_long = bytes.one_of({"error", "drop", "truncate", "split", "own_pack", "nothing", nullptr});
  request.empty = bytes.one_of({"drop", "keep", "error", ""});
  request.packer = bytes.one_of({"isf", "bfd", "ffd", "hbp", "", nullptr});
  set_arrays(bytes, arrays, request);
  set_fields(bytes, request);
  std::vector<std::int32_t> lengths;
  while (!bytes.empty() && lengths.size() < 2000)
    lengths.push_back(static_cast<std::int32_t>(bytes.integer()));

  if (takes_long(arrays, lengths, request)) return -1;
  packsim_packing* packing = nullptr;
  const packsim_status status = packsim_pack(lengths.data(), std::ssize(lengths), &request, &packing);
  expect(status == PACKSIM_OK || status == PACKSIM_INVALID_ARGUMENT, "the caller's mistake, or none");
  expect((status == PACKSIM_OK) == (packing != nullptr), "a packing, or a failure");
  if (packing == nullptr) {
    expect(std::strstr(packsim_last_error(), "expected") != nullptr, "a failure says what was expected");
    return 0;
  }
  packsim::testing::check_partition(*packing, lengths, request);
  packsim_packing_free(packing);
  return 0;
}
