#pragma once

#include "scenarios/loader/schema/file_kinds.hpp"

namespace packsim {

/// Every key that the reader of such files asks for, found by asking: it reads probes, each with one key or
/// one word more than another, until no probe makes it ask for anything new. Probes name no file that exists,
/// so limits that follow from a model or a cluster are the widest ones.
KeyRecords explore_keys(const FileKind& kind);

}  // namespace packsim
