#pragma once

namespace packsim {

/// Bytes that this process can still take: the least of what the machine has free (MemAvailable), of its
/// control group's limit and of its limit of addresses (ulimit -v). Infinity if none of them is known.
double free_memory_bytes();

}  // namespace packsim
