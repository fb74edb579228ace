// The command line of the one binary: what main hands in and what comes back.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/child_process.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"

namespace weir::app {

/// What the process ends with.
enum class Exit {
  kDone = 0,
  kFailed = 1,   ///< stderr holds one line: what, where, what to do
  kUsage = 2,    ///< the command line itself is wrong; nothing was opened
  kRefused = 3,  ///< a limit said no
};

/// The real world, handed in by main. Everything outlives Run.
struct World {
  const Clock& clock;
  Scheduler& scheduler;  ///< Run is not called on its thread
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  bool in_is_terminal = false;
  std::string user{};  ///< user@host of the process; empty: unknown
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// From the first call on, SIGINT and SIGTERM no longer end the process but make this true.
  std::function<bool()> interrupted;
  /// The signal that made `interrupted` true.
  std::function<int()> signal = [] { return 2; };
  /// As StartChild (child_process.h).
  std::function<Result<std::unique_ptr<Child>>(const std::vector<std::string>& command,
                                               const Variables& variables)>
      start_child = StartChild;
};

/// Runs one verb. `args` without the program's name.
Exit Run(const std::vector<std::string>& args, const World& world);

}  // namespace weir::app
