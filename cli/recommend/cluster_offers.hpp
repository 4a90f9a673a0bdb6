#pragma once

#include <string>
#include <vector>

#include "recommend/question.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/price_list.hpp"

namespace packsim {

/// The offers that --gpus says: "TYPE", "8xTYPE" or "8xTYPE=PRICE" each, perhaps several with commas between
/// them. TYPE is a cluster type's name or file, or the start of a shipped one's name: H100 is
/// h100-sxm-80gb, the shortest of those with SXM modules. Numbers of GPUs are whole nodes, or part of one.
///
/// list: prices and terms, where the texts have none; each price of a type is an offer, and without texts all
/// types are. Null: there is no list.
///
/// Throws std::invalid_argument with every mistake, one a line.
std::vector<ClusterOffer> cluster_offers(const std::vector<std::string>& texts, const PriceList* list,
                                         const DataPaths& data);

}  // namespace packsim
