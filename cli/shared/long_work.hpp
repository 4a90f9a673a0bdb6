#pragma once

namespace packsim {

/// Says on stderr that the work may take long, if the estimate is a minute or more. To be called before the
/// work starts, so that no line of Progress is written over.
void announce_long_work(double work_s);

}  // namespace packsim
