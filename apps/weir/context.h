// The context of a running verb.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/store/store_choice.h"
#include "apps/weir/terminal/log_output.h"
#include "weir/aws/service_location.h"
#include "weir/base/result.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/runtime/deadline.h"
#include "weir/store/backend.h"

namespace weir::app {

/// The options that every verb accepts.
struct CommonOptions {
  std::optional<std::string> store;  ///< --store, as given; see ChooseStore
  Durability durability = Durability::kRelaxed;
  /// How long to wait for another process that owns the file.
  nanoseconds lock_wait = std::chrono::seconds(5);
  bool json = false;
  LogOptions log{};
  std::optional<std::string> by{};  ///< --by; see Context::Principal
};

/// Returns the environment that main passes in, and the files of this process.
HostEnvironment HostEnvironmentOf(const ProcessContext& process);

/// Blocks until `at` by the scheduler's clock. Must not be called from one of its tasks.
[[nodiscard]] Status SleepUntil(Scheduler& scheduler, Instant at);

/// One run of one verb. Not thread-safe.
class Context {
 public:
  Context(const ProcessContext& process, const CommonOptions& common)
      : process_(process), common_(common), log_(MakeLog(process.err, process.clock, common.log)) {}

  const ProcessContext& process() const { return process_; }
  const CommonOptions& common() const { return common_; }
  /// Returns the log for the operator's events, on standard error.
  Log& log() const { return *log_; }
  /// Returns the store of this run, by ChooseStore or ChooseReservationStore.
  [[nodiscard]] Result<StoreChoice> Store() const;

  /// Returns the author of this run's changes, for the audit log: --by, else the variable WEIR_BY,
  /// else, for a table, the ARN of the caller (FindCaller), else ProcessContext::user if the audit
  /// log accepts it. The ARN is looked up once; if that fails, a line on stderr says so. Returns
  /// kInvalidArgument if WEIR_BY is not a valid name. May block for kCallerWait.
  [[nodiscard]] Result<std::optional<std::string>> Principal();

  using Work = std::function<Result<Exit>(Backend&)>;
  /// Opens the store, calls `work`, and closes the store: all changes of `work` are durable on
  /// return.
  [[nodiscard]] Result<Exit> WithBackend(Access access, const Work& work);
  /// Like WithBackend, but in memory unless --store names a file; the variables of the environment
  /// are ignored. For commands that set limits and fill buckets which are not meant for other
  /// clients. Returns kInvalidArgument if --store names a table, which is shared.
  [[nodiscard]] Result<Exit> WithScratch(const Work& work);
  using NamespaceWork = std::function<Result<Exit>(NamespaceStore&)>;
  /// Calls `work` on the namespaces of a file or of memory. The data of a file are not opened:
  /// another process may own the file, and the namespace in the URL need not be registered.
  [[nodiscard]] Result<Exit> WithNamespaces(Access access, const NamespaceWork& work);
  /// Returns UrlToOpen for Store(). For kWrite this may create the folder of the default store. The
  /// exit code of a URL that is invalid, or does not allow the access, is kUsage.
  [[nodiscard]] Result<std::string> StoreUrl(Access access);
  /// Returns the deadline of one request to the store, after an intended wait.
  Deadline StoreDeadline(nanoseconds wait = nanoseconds(0)) const;
  /// Returns a function that returns a StoreDeadline at each call, for a series of requests. The
  /// context must outlive it.
  std::function<Deadline()> RequestDeadlines() const;
  /// Returns the deadline for this number of changes of the configuration, which a store may split:
  /// 30 s, and 5 s for each hundred changes.
  Deadline ApplyDeadline(std::size_t changes) const;

  /// Sets the text for stdout at the end of the verb: `json` with --json, else `text`. If records
  /// were left out, a JSON object gets a member `left_out`.
  void WriteResult(const nlohmann::ordered_json& json, std::string_view text);
  const std::string& result() const { return result_; }
  /// Sets one line for stderr, printed after the output: the failure of a run that has output.
  void Warn(std::string_view message) { warning_ = message; }
  const std::string& warning() const { return warning_; }
  /// Returns the lines for stderr about unreadable records that a listing left out. They do not
  /// change the exit code. Add them before WriteResult.
  std::vector<std::string>& left_out() { return left_out_; }
  enum class Records { kConfig, kBuckets };
  /// Returns false if a listing left out a record, or if the file has a damaged row (reported by
  /// WithBackend) that may be one of `records`.
  bool IsComplete(Records records) const;
  /// Returns left_out() and the damaged rows, at most DamageReport::kKept of the latter.
  std::vector<std::string> AllLeftOut() const;

  /// Returns the exit code after a signal: 128 plus its number.
  Exit Interrupted() const { return static_cast<Exit>(128 + process_.signal()); }

  /// Returns the quoted command for advice in a message: `subcommand`, such as "store check", with
  /// the --store of this run if it was given.
  std::string QuotedCommand(std::string_view subcommand) const;

  /// Returns the error, with the name of the variable if a variable named the store.
  Error OfStore(Error error) const;

  /// Whether the verb works on reservations, and the access to them that it needs.
  bool for_reservations = false;
  Access reservation_access = Access::kWrite;
  /// Whether a run that writes makes changes that are audited, so that Principal is needed.
  bool is_audited = true;
  /// Whether the output is printed even if the store cannot be closed: it reports what has
  /// happened.
  bool print_output_if_close_fails = false;
  /// The exit code if the verb returns an error.
  Exit failure = Exit::kFailed;

 private:
  /// Returns --by or WEIR_BY; nothing if neither names an author.
  Result<std::optional<std::string>> NamedPrincipal() const;
  /// Returns the caller of a table, or nothing.
  std::optional<std::string> CallerOfStore() const;
  Result<std::unique_ptr<Backend>> Open(Access access, const std::string& url);
  Result<Exit> WithUrl(Access access, const std::string& url, const Work& work);
  /// Prints one line on stderr if rows of a file are damaged.
  void ReportDamage(const Backend& backend);

  const ProcessContext& process_;
  const CommonOptions& common_;
  const std::unique_ptr<Log> log_;
  std::string result_;
  std::string warning_;
  std::vector<std::string> left_out_;
  std::vector<std::string> damaged_;
  std::optional<std::optional<std::string>> principal_;  ///< the result of Principal
};

}  // namespace weir::app
