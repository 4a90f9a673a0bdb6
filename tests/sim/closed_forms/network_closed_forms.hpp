#pragma once

#include <span>
#include <vector>

namespace packsim {

// What is known on paper of networks; tests hold the implementation to it.

/// Rates of flows of one link that could each have so much: those that ask for less than their share keep
/// what they ask for, the others split the rest evenly. asked: [n_flows]; answers in that order.
std::vector<double> shared_link_rates(std::span<const double> asked_bytes_per_s, double link_bytes_per_s);

/// Ends of flows that start together on one link and could each fill it. The smallest of n is done when each
/// has sent as much, after n times its size; the others go on with what they have left. bytes: [n_flows];
/// answers in that order.
std::vector<double> shared_link_ends_s(std::span<const double> bytes, double link_bytes_per_s);

/// Bytes that leave a set of inside_gpus of an all-to-all's n_gpus: each sends 1/n of its payload to each
/// that is outside. The same number comes in.
double all_to_all_crossing_bytes(int inside_gpus, int n_gpus, double payload_bytes);

/// Bytes that leave a set of neighbours on the rings of a collective: each of the n shards passes every gap
/// between neighbours but one, once for all-gather and reduce-scatter and twice for all-reduce.
double ring_crossing_bytes(int n_gpus, double payload_bytes, int passes);

}  // namespace packsim
