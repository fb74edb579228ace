// The callbacks by which the source of an event learns of its progress.
#pragma once

#include <functional>

#include "weir/base/done.h"

namespace weir {

struct EventProgress {
  /// Called once. Success: the slots of the event's resource are released and the store remembers
  /// its end, or the event does not report the end of a resource. The value is true if the release
  /// is repeated later, for slots that the store did not find yet; `over` is then called.
  Done<bool> settled;
  /// Called at most once, after `settled` got true. Success: no request to the store follows, and
  /// the source may forget the event. An error: repeated requests were not made
  /// (kResourceExhausted) or failed, and the source must deliver the event again.
  Done<void> over;
};

}  // namespace weir
