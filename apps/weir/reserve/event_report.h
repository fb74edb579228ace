// The output of `weir reservation events`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "apps/weir/context.h"
#include "weir/events/event_releaser.h"
#include "weir/events/sqs_source.h"

namespace weir::app {

/// The number of failures, and the first one.
struct FailureTally {
  std::uint64_t count = 0;
  std::string first;

  void Note(std::string what) {
    if (count++ == 0) first = std::move(what);
  }
  void Add(FailureTally other) {
    if (count == 0) first = std::move(other.first);
    count += other.count;
  }
};

/// The releaser and the source of one run.
struct EventReading {
  const EventReleaser& releaser;
  const SqsSource* source = nullptr;  ///< null: standard input
  bool metrics = false;               ///< the metrics are printed too
  std::string_view unread{};          ///< why lines may be left unread; empty: none are
};

/// Prints the numbers, the metrics if wanted, and on standard error the failures and why lines are
/// left unread, each of which fails the command.
Result<Exit> ReportEvents(Context& context, const EventReading& reading,
                          const FailureTally& failures);

}  // namespace weir::app
