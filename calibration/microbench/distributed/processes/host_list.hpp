#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packsim::microbench {

/// The hosts of a Slurm node list, in its order: "gpu[001-003,007],login1" gives gpu001, gpu002, gpu003,
/// gpu007, login1. A name may have several brackets (rack[1-2]node[01-04]); numbers keep their leading
/// zeros. Throws std::invalid_argument for anything else and for over 65536 hosts.
std::vector<std::string> expand_host_list(std::string_view list);

}  // namespace packsim::microbench
