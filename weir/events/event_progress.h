// What the source of an event is told of it.
#pragma once

#include <functional>

#include "weir/base/done.h"

namespace weir {

struct EventProgress {
  /// Once. The event is safe: the slots of its resource are released, and the store remembers its
  /// end; or it says of no resource that it has ended. True: the store is asked again, for slots
  /// that it did not find yet; `over` follows.
  Done<bool> settled;
  /// At most once, after `settled` said true: the store is not asked any more, and the source may
  /// forget the event. An error: requests that were to follow were not made (kResourceExhausted),
  /// or failed; the source is to give the event again.
  Done<void> over;
};

}  // namespace weir
