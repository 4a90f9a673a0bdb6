#pragma once

#include <memory>

#include "packing/c_api/packsim.h"

namespace packsim::testing {

struct FreePacking {
  void operator()(packsim_packing* packing) const { packsim_packing_free(packing); }
};
using OwnedPacking = std::unique_ptr<packsim_packing, FreePacking>;

inline packsim_pack_request default_request() {
  packsim_pack_request request;
  packsim_pack_request_init(&request, sizeof request);
  return request;
}

}  // namespace packsim::testing
