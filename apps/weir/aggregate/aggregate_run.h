// Runs the daemon of `weir aggregate`, or a replay, until it ends or a signal arrives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/context.h"
#include "weir/aggregator/daemon/aggregate_daemon.h"
#include "weir/aggregator/replay/replay_range.h"
#include "weir/archive/archive_url.h"
#include "weir/model/usage.h"

namespace weir::app {

struct AggregateOptions {
  std::vector<UsageWindow> windows{UsageWindow::kHourly, UsageWindow::kDaily};
  std::uint64_t retention_days = 90;
  bool from_latest = false;
  bool take_over = false;
  bool no_refill = false;
  bool no_divide = false;
  std::optional<ArchiveUrl> archive;
  bool metrics = false;
  std::string metrics_file;
  dynamo::ReplayRange replay;  ///< an empty shard means no replay
};

/// Prints the counters at the end. The first signal drains the daemon. A second one, at least a
/// second later, stops it before its positions are stored; the exit code is then that of the
/// signal. Returns the error that ended the daemon. Blocks.
[[nodiscard]] Result<Exit> RunDaemon(const AggregateOptions& given, Context& context,
                                     const dynamo::DaemonParts& parts,
                                     const dynamo::DaemonOptions& options);

/// Prints the counters at the end. A signal stops the replay, which may be repeated. Returns the
/// errors of ShardReplay. Blocks.
[[nodiscard]] Result<Exit> RunReplay(const AggregateOptions& given, Context& context,
                                     const dynamo::DaemonParts& parts,
                                     const dynamo::DaemonOptions& options);

}  // namespace weir::app
