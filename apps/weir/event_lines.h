// Events from standard input, a line each.
#pragma once

#include "apps/weir/context.h"
#include "weir/events/event_releaser.h"
#include "weir/runtime/scheduler.h"

namespace weir::app {

/// Blocks for a tenth of a second, between two looks whether to stop.
void PauseBetweenLooks(Scheduler& scheduler);

/// Reads to the end of the input, and waits until each event is over, or for an interrupt.
Result<Exit> ReadEventLines(bool metrics, EventReleaser& releaser, Scheduler& scheduler,
                            Context& context);

}  // namespace weir::app
