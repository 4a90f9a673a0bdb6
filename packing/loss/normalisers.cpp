#include "packing/loss/normalisers.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace packsim {
namespace {

double over(std::int64_t count) {
  return 1.0 / static_cast<double>(count);
}

double stable(const LossPlace& place) {
  return over(place.iteration.loss_tokens);
}

double token_mean(const LossPlace& place) {
  return place.gpu_share * over(place.pack.loss_tokens);
}

double sample_mean(const LossPlace& place) {
  return place.gpu_share * over(place.pack.n_samples);
}

double longalign(const LossPlace& place) {
  return over(place.iteration.n_samples);
}

double sum(const LossPlace&) {
  return 1;
}

// HBP section 4.3 has the sums; the released code of LongAlign (main.py 68, dataset.py 56) gives a token
// K / (N_i M) in the mean over K packs with M samples.
constexpr std::array<Normaliser, 5> kNormalisers = {{
    {"stable", "the mean over all loss tokens of the iteration: every token weighs the same",
     "HBP (arXiv 2503.07680), section 4.3, in its exact form", false, stable},
    {"token_mean", "the mean over a micro-batch's loss tokens, then over micro-batches and GPUs",
     "the default of most training loops", false, token_mean},
    {"sample_mean", "the mean over a sample's loss tokens, then over a micro-batch's samples and as above",
     "HBP (arXiv 2503.07680), section 4.3", true, sample_mean},
    {"longalign", "the mean over a sample's loss tokens, then over all samples of the iteration",
     "LongAlign (arXiv 2401.18058), equation 4, over the whole iteration", true, longalign},
    {"sum", "the sum over all loss tokens: its size follows the tokens of the iteration",
     "HBP (arXiv 2503.07680), section 4.3", false, sum},
}};

}  // namespace

std::span<const Normaliser> normalisers() {
  return kNormalisers;
}

const Normaliser* find_normaliser(std::string_view name) {
  const auto* const row = std::ranges::find(kNormalisers, name, &Normaliser::name);
  return row == kNormalisers.end() ? nullptr : row;
}

const Normaliser& known_normaliser(std::string_view name) {
  if (const Normaliser* row = find_normaliser(name)) return *row;
  std::string known;
  for (const Normaliser& row : kNormalisers) known += (known.empty() ? "" : ", ") + std::string(row.name);
  throw std::invalid_argument("normaliser: expected one of " + known + ", got \"" + std::string(name) + "\"");
}

}  // namespace packsim
