#include "apps/weir/bucket_view.h"

#include <algorithm>

#include "apps/weir/arguments.h"
#include "weir/bucket/meter_times.h"

namespace weir::app {

std::vector<ShownMeter> MetersAt(const BucketRecord& record, UnixMillis at) {
  std::vector<ShownMeter> shown;
  const auto add = [&](const std::string& name, Meter meter, UnixMillis time) -> ShownMeter& {
    Refill(meter, time, at);
    const UnixMillis full_at = FullAt(meter, std::max(time, at));
    return shown.emplace_back(name, meter,
                              full_at < kEndOfTimes ? std::optional(full_at) : std::nullopt);
  };
  for (std::size_t i = 0; i < record.names.size(); ++i) {
    add(record.names[i], record.bucket.meters[i], record.bucket.time);
  }
  for (const ExtraMeter& extra : record.extras.meters) {
    add(extra.name, extra.meter, extra.time).configured = false;
  }
  return shown;
}

}  // namespace weir::app
