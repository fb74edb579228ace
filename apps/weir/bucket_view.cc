#include "apps/weir/bucket_view.h"

#include <algorithm>

#include "weir/bucket/meter_times.h"

namespace weir::app {

std::vector<ShownMeter> MetersAt(const BucketRecord& record, UnixMillis at) {
  std::vector<ShownMeter> shown;
  const auto add = [&](const std::string& name, Meter meter, UnixMillis time) -> ShownMeter& {
    Refill(meter, time, at);
    return shown.emplace_back(name, meter, FullAt(meter, std::max(time, at)));
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
