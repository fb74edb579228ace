// What `weir reservation events` answers at its end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "apps/weir/context.h"
#include "weir/events/event_releaser.h"
#include "weir/events/sqs_source.h"

namespace weir::app {

/// What did not go well, and the first of it.
struct Trouble {
  std::uint64_t count = 0;
  std::string first;

  void Note(std::string what) {
    if (count++ == 0) first = std::move(what);
  }
  void Add(Trouble other) {
    if (count == 0) first = std::move(other.first);
    count += other.count;
  }
};

/// What events were read with.
struct EventReading {
  const EventReleaser& releaser;
  const SqsSource* source = nullptr;  ///< null: standard input
  bool metrics = false;               ///< are printed, too
};

/// Numbers, metrics if they are wanted, and on standard error the trouble, which fails the command.
Result<Exit> AnswerEvents(Context& context, const EventReading& reading, const Trouble& trouble);

}  // namespace weir::app
