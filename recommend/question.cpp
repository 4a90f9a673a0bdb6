#include "recommend/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/text/printable.hpp"

namespace packsim {
namespace {

constexpr int kMostNodes = 65536;

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

std::vector<int> usual_node_counts() {
  return {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
}

std::string name_of(const ClusterOffer& offer) {
  return offer.term.empty() ? offer.type : fmt::format("{} ({})", offer.type, offer.term);
}

const std::vector<int>& node_counts_of(const Question& question, const ClusterOffer& offer) {
  return offer.node_counts.empty() ? question.node_counts : offer.node_counts;
}

std::vector<std::string> mistakes_of(const Question& question) {
  std::vector<std::string> mistakes;
  const auto expect = [&](bool holds, std::string text) {
    if (!holds && std::ranges::find(mistakes, text) == mistakes.end()) mistakes.push_back(std::move(text));
  };
  const auto n_priced = std::ranges::count_if(
      question.offers, [](const ClusterOffer& offer) { return offer.gpu_hour_price.has_value(); });
  const auto n_offers = static_cast<std::ptrdiff_t>(question.offers.size());
  expect(n_offers > 0, "gpus: expected at least one type of cluster, got none");
  for (const ClusterOffer& offer : question.offers) {
    if (offer.gpu_hour_price)
      expect(is_positive(*offer.gpu_hour_price),
             fmt::format("gpus: {}: expected a price above 0, got {}", printable_name(name_of(offer)),
                         *offer.gpu_hour_price));
    const auto n_alike = std::ranges::count_if(question.offers, [&](const ClusterOffer& other) {
      return name_of(other) == name_of(offer) && other.hardware == offer.hardware &&
             other.gpus_per_node == offer.gpus_per_node;
    });
    expect(n_alike == 1, fmt::format("gpus: {}: expected each type once", printable_name(name_of(offer))));
    const std::vector<int>& node_counts = node_counts_of(question, offer);
    expect(!node_counts.empty(), "nodes: expected at least one number, got none");
    for (const int nodes : node_counts)
      expect(nodes >= 1 && nodes <= kMostNodes,
             fmt::format("nodes: expected integers in 1..{}, got {}", kMostNodes, nodes));
  }
  expect(n_priced == 0 || n_priced == n_offers, "gpus: expected a price for all types or for none");
  const bool is_one_type = std::ranges::all_of(
      question.offers, [&](const ClusterOffer& offer) { return offer.type == question.offers.front().type; });
  expect(is_one_type || n_priced > 0 || question.goal == Goal::fastest,
         "gpus: expected prices, as GPU-days of different GPUs are not the same money");
  expect(!question.limits.budget || n_priced > 0, "budget: expected prices of the GPUs as well");
  for (const auto& [name, limit] :
       {std::pair("deadline", question.limits.deadline_hours), std::pair("budget", question.limits.budget)}) {
    if (limit)
      expect(is_positive(*limit), fmt::format("{}: expected a number above 0, got {}", name, *limit));
  }
  if (question.limits.most_gpus)
    expect(*question.limits.most_gpus >= 1,
           fmt::format("max-gpus: expected at least 1, got {}", *question.limits.most_gpus));
  return mistakes;
}

}  // namespace packsim
