// The command line of the one binary: what main hands in and what comes back.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/child_process.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"

namespace weir::app {

/// What the process ends with.
enum class Exit {
  kDone = 0,
  kFailed = 1,   ///< stderr holds one line: what, where, what to do
  kUsage = 2,    ///< the command line itself is wrong; nothing was opened
  kRefused = 3,  ///< a limit said no
  kPending = 4,  ///< of `limits plan --detailed-exitcode`: the store is not as the file says
};

/// What the process gives a command, from main. Everything outlives Run.
struct ProcessContext {
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
  /// From now on SIGINT and SIGTERM end the process again.
  std::function<void()> release_signals = [] {};
  /// The signal that made `interrupted` true.
  std::function<int()> signal = [] { return 2; };
  /// From the first call on, another signal, at least a second after the first, does not end the
  /// process but makes this true; the one after it ends the process.
  std::function<bool()> hurried = [] { return false; };
  /// The descriptor that `in` reads.
  std::optional<int> in_descriptor{};
  /// From now on `look` is asked ten times a second while `in` waits; if it returns true, `in` ends
  /// there. An empty one: no longer.
  std::function<void(std::function<bool()> look)> watch_input = [](const auto&) {};
  /// As StartChild (child_process.h).
  std::function<Result<std::unique_ptr<Child>>(const std::vector<std::string>& command,
                                               const Variables& variables)>
      start_child = StartChild;
  /// Instead of OpenBackend; null: that.
  std::function<Result<std::unique_ptr<Backend>>(const std::string& url)> open_backend{};
};

/// Runs one verb. `args` without the program's name.
Exit Run(const std::vector<std::string>& args, const ProcessContext& process);

}  // namespace weir::app
