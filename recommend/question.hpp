#pragma once

#include <optional>
#include <string>
#include <vector>

namespace packsim {

/// A type of cluster that may be booked, and what an hour of one of its GPUs costs.
struct ClusterOffer {
  std::string type;                      ///< a shipped name or a path; a name alone if is_of_scenario
  std::optional<double> gpu_hour_price;  ///< above 0, in the currency of all offers
  /// Whether it is the scenario's own cluster, with all that the scenario says of it.
  bool is_of_scenario = false;
  /// GPUs of each node that the job has; none: all, or as many as the scenario says.
  std::optional<int> gpus_per_node = {};
  /// The numbers of nodes to try, ascending; empty: the question's.
  std::vector<int> node_counts = {};
  std::string term = {};  ///< of the price: "spot"; empty: not said
  /// Mean hours until the provider takes a node back; none: it does not.
  std::optional<double> spot_mtbf_hours = {};
  std::string hardware = {};  ///< the hardware profile that prices its kernels; empty: as in the scenario

  /// Whether it has the same GPUs on the same terms, in other numbers perhaps.
  bool has_same_gpus(const ClusterOffer& other) const {
    return type == other.type && gpu_hour_price == other.gpu_hour_price && term == other.term &&
           hardware == other.hardware;
  }
};

/// "h100-sxm-80gb" or, where the price has terms, "h100-sxm-80gb (spot)". Not escaped.
std::string name_of(const ClusterOffer& offer);

/// Which of the clusters that meet all limits is the best. Of equals, the other goal decides.
enum class Goal {
  cheapest,  ///< the least money; without prices the fewest GPU-days
  fastest,   ///< the fewest hours
};

/// What a cluster has to keep to with 90 % confidence: times and money are the upper ends of intervals that
/// are meant to hold nine of ten true values.
struct Limits {
  std::optional<int> most_gpus;
  std::optional<double> deadline_hours;
  std::optional<double> budget;  ///< in the currency of the offers
};

/// Which cluster and plan should a job have?
struct Question {
  std::vector<ClusterOffer> offers;  ///< one or more; either all or none have a price
  std::vector<int> node_counts;      ///< ascending; tried with each offer that has none of its own
  Limits limits;
  Goal goal = Goal::cheapest;
  /// Whether clusters are simulated that cannot be the answer.
  bool simulates_all = false;
  std::string currency = {};      ///< of all money, to be shown behind it; empty: not said
  std::string price_source = {};  ///< where prices come from, and when they held; empty: not said
};

/// The numbers of nodes to try with one of its offers.
const std::vector<int>& node_counts_of(const Question& question, const ClusterOffer& offer);

/// Numbers of nodes from 1 to 128, each at most half as many again as the one before, or twice.
std::vector<int> usual_node_counts();

/// Every mistake in the question, one a line. Empty if there is none.
std::vector<std::string> mistakes_of(const Question& question);

}  // namespace packsim
