// Reads events from standard input, one per line.
#pragma once

#include "apps/weir/context.h"
#include "weir/events/event_releaser.h"
#include "weir/runtime/scheduler.h"

namespace weir::app {

/// Blocks for a tenth of a second, the pause between two checks for a stop.
void PauseBetweenChecks(Scheduler& scheduler);

/// Reads the input to its end and waits until each event is finished, or until an interrupt.
Result<Exit> ReadEventLines(bool metrics, EventReleaser& releaser, Scheduler& scheduler,
                            Context& context);

}  // namespace weir::app
