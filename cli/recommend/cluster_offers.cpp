#include "cli/recommend/cluster_offers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {
namespace {

// As it is typed.
struct AskedGpus {
  std::string type;
  std::optional<int> n_gpus;
  std::optional<double> price;
};

std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) {
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t comma = std::min(text.find(',', start), text.size());
      all.push_back(text.substr(start, comma - start));
      start = comma + 1;
    }
  }
  return all;
}

AskedGpus asked(const std::string& text) {
  AskedGpus gpus{.type = text, .n_gpus = {}, .price = {}};
  const std::size_t equals = text.rfind('=');
  bool is_right = true;
  if (equals != std::string::npos) {
    gpus.type = text.substr(0, equals);
    double price = 0;
    const char* const end = text.data() + text.size();
    const auto [read_to, error] = std::from_chars(text.data() + equals + 1, end, price);
    is_right = error == std::errc() && read_to == end && std::isfinite(price);
    gpus.price = price;
  }
  int n_gpus = 0;
  const char* const end = gpus.type.data() + gpus.type.size();
  const auto [read_to, error] = std::from_chars(gpus.type.data(), end, n_gpus);
  if (error == std::errc() && read_to != end && *read_to == 'x') {
    is_right = is_right && n_gpus >= 1;
    gpus.n_gpus = n_gpus;
    gpus.type = std::string(read_to + 1, end);
  }
  if (is_right && !gpus.type.empty()) return gpus;
  throw std::invalid_argument(
      fmt::format("--gpus: expected TYPE, 8xTYPE or TYPE=PRICE, such as 8xH100=2.5, got {}", quote(text)));
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// The shipped cluster type that a short name means; the text itself where it is a name or a path.
std::string cluster_type_of(const std::string& text, const DataPaths& data) {
  const std::vector<std::string> names = names_of(kClusterFiles, data);
  const std::string name = lower(text);
  if (std::ranges::find(names, name) != names.end()) return name;
  if (text.find('/') != std::string::npos || std::filesystem::exists(text)) return text;
  std::vector<std::string> found;
  std::ranges::copy_if(names, std::back_inserter(found),
                       [&](const std::string& one) { return one.starts_with(name + "-"); });
  if (std::ranges::any_of(found, [](const std::string& one) { return one.find("-sxm-") != one.npos; }))
    std::erase_if(found, [](const std::string& one) { return one.find("-sxm-") == one.npos; });
  if (found.empty()) return text;
  std::ranges::stable_sort(found, {}, &std::string::size);
  if (found.size() > 1 && found[0].size() == found[1].size())
    throw std::invalid_argument(fmt::format("--gpus: {}: expected one of {}", text, fmt::join(found, ", ")));
  return found.front();
}

ClusterOffer offer_of(const std::string& text, const DataPaths& data) {
  const AskedGpus gpus = asked(text);
  ClusterOffer offer{.type = cluster_type_of(gpus.type, data), .gpu_hour_price = gpus.price};
  if (!gpus.n_gpus) return offer;
  const int of_node = load_cluster_type(offer.type, data).gpus_per_node;
  offer.gpus_per_node = std::min(*gpus.n_gpus, of_node);
  if (*gpus.n_gpus > of_node && *gpus.n_gpus % of_node != 0)
    throw std::invalid_argument(
        fmt::format("--gpus: {}: expected less than {} GPUs, a node's, or whole nodes, got {}", offer.type,
                    of_node, *gpus.n_gpus));
  offer.node_counts = {std::max(1, *gpus.n_gpus / of_node)};
  return offer;
}

// Sizes of the same cluster type are one offer.
void add(ClusterOffer offer, std::vector<ClusterOffer>& offers) {
  const auto known = std::ranges::find_if(offers, [&](const ClusterOffer& one) {
    const bool has_same_terms = offer.gpu_hour_price ? one.has_same_gpus(offer) : one.type == offer.type;
    return has_same_terms && one.gpus_per_node == offer.gpus_per_node &&
           one.node_counts.empty() == offer.node_counts.empty();
  });
  if (known == offers.end() || offer.node_counts.empty()) {
    offers.push_back(std::move(offer));
    return;
  }
  std::vector<int>& counts = known->node_counts;
  counts.insert(std::ranges::lower_bound(counts, offer.node_counts.front()), offer.node_counts.front());
  counts.erase(std::ranges::unique(counts).begin(), counts.end());
}

// The offer at each price of its type.
std::vector<ClusterOffer> priced(const ClusterOffer& offer, const PriceList& list, const DataPaths& data) {
  std::vector<ClusterOffer> offers;
  std::vector<std::string> types;
  for (const PriceList::Price& price : list.prices) {
    types.push_back(cluster_type_of(price.cluster, data));
    if (types.back() != offer.type) continue;
    ClusterOffer& one = offers.emplace_back(offer);
    one.gpu_hour_price = price.gpu_hour_price;
    one.term = price.term;
    one.spot_mtbf_hours = price.spot_mtbf_hours;
    one.hardware = price.hardware;
  }
  if (offers.empty())
    throw std::invalid_argument(
        fmt::format("--gpus: {}: expected a type with a price in the list ({}), got none", offer.type,
                    fmt::join(types, ", ")));
  return offers;
}

}  // namespace

std::vector<ClusterOffer> cluster_offers(const std::vector<std::string>& texts, const PriceList* list,
                                         const DataPaths& data) {
  std::vector<std::string> asked_texts = split_at_commas(texts);
  if (list != nullptr && asked_texts.empty()) {
    for (const PriceList::Price& price : list->prices) {
      const std::string type = cluster_type_of(price.cluster, data);
      if (std::ranges::find(asked_texts, type) == asked_texts.end()) asked_texts.push_back(type);
    }
  }
  std::vector<ClusterOffer> offers;
  std::vector<std::string> mistakes;
  for (const std::string& text : asked_texts) {
    try {
      const ClusterOffer offer = offer_of(text, data);
      if (list == nullptr) {
        add(offer, offers);
        continue;
      }
      if (offer.gpu_hour_price)
        throw std::invalid_argument(fmt::format("--gpus: {}: expected no price beside --prices, got {}",
                                                offer.type, *offer.gpu_hour_price));
      for (ClusterOffer& one : priced(offer, *list, data)) add(std::move(one), offers);
    } catch (const std::invalid_argument& mistake) {
      mistakes.emplace_back(mistake.what());
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument(fmt::format("{}", fmt::join(mistakes, "\n")));
  return offers;
}

}  // namespace packsim
