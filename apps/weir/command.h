// The command line of the program: its input from main, and its result.
#pragma once

#include <exception>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/weir/reserve/child_process.h"
#include "weir/base/time.h"
#include "weir/runtime/scheduler.h"
#include "weir/store/backend.h"

namespace weir::app {

/// The exit codes of the process.
enum class Exit {
  kDone = 0,
  kFailed = 1,  ///< stderr has one line: the problem, its location, and a remedy
  /// the command line, a variable or the file of `serve --config` is wrong; no store was changed
  kUsage = 2,
  kRefused = 3,  ///< a limit refused the request
  /// `limits plan --detailed-exitcode`: the store differs from the file; `table check`: the table
  /// differs from one that `table create` makes; `limits import`: a part of the file is left out
  kPending = 4,
};

/// The environment of a command, from main. Everything in it outlives Run.
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
  /// Returns whether SIGINT or SIGTERM has been received. From the first call on, the first of
  /// these signals, and its repetitions within a second, do not end the process (StopRequest).
  std::function<bool()> interrupted;
  /// Lets SIGINT and SIGTERM end the process again.
  std::function<void()> release_signals = [] {};
  /// Returns the signal that `interrupted` reports.
  std::function<int()> signal = [] { return 2; };
  /// Returns whether a second signal has been received, at least a second after the first. From the
  /// first call on, that second signal does not end the process; the one after it does.
  std::function<bool()> hurried = [] { return false; };
  /// The descriptor of `in`.
  std::optional<int> in_descriptor{};
  /// Calls `look` ten times a second while `in` waits for data, and ends `in` if `look` returns
  /// true. An empty function stops this.
  std::function<void(std::function<bool()> look)> watch_input = [](const auto&) {};
  /// See StartChild (child_process.h).
  std::function<Result<std::unique_ptr<Child>>(const std::vector<std::string>& command,
                                               const Variables& variables)>
      start_child = StartChild;
  /// Replaces FindCaller (apps/weir/store/table_caller.h), unless it is empty.
  std::function<Result<std::optional<std::string>>(const std::string& url)> find_caller{};
  /// Replaces OpenBackend, unless it is empty.
  std::function<Result<std::unique_ptr<Backend>>(const std::string& url)> open_backend{};
};

/// Runs one command. `args` are without the name of the program.
Exit Run(const std::vector<std::string>& args, const ProcessContext& process);

/// Prints an exception that ends the process outside of Run, such as that of a thread that cannot
/// be started, in the form of Run's errors. Returns kFailed.
Exit FailWithException(const std::vector<std::string>& args, const std::exception& problem,
                       std::ostream& err);

}  // namespace weir::app
