// What a verb may use while it runs.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/weir/command.h"
#include "apps/weir/log_output.h"
#include "apps/weir/store_choice.h"
#include "weir/aws/service_location.h"
#include "weir/base/result.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/runtime/deadline.h"
#include "weir/store/backend.h"

namespace weir::app {

/// The options that every verb accepts.
struct CommonOptions {
  std::optional<std::string> store;  ///< --store, as it was given; see ChooseStore
  Durability durability = Durability::kRelaxed;
  /// How long to wait for a process that owns the file.
  nanoseconds lock_wait = std::chrono::seconds(5);
  bool json = false;
  LogOptions log{};
  std::optional<std::string> by{};  ///< --by; see PrincipalOf
};

/// The environment as main hands it in, and the files of this process.
HostEnvironment SurroundingsOf(const ProcessContext& process);

/// Who makes the changes of this run, for the audit log: `by`, else the variable WEIR_BY, else
/// ProcessContext::user if it is a name that the audit log accepts. kInvalidArgument: WEIR_BY is
/// none.
[[nodiscard]] Result<std::optional<std::string>> PrincipalOf(const ProcessContext& process,
                                                             const std::optional<std::string>& by);

/// Blocks until then by the scheduler's clock. Not from one of its tasks.
[[nodiscard]] Status SleepUntil(Scheduler& scheduler, Instant at);

/// One run of one verb. Not thread-safe.
class Context {
 public:
  Context(const ProcessContext& process, const CommonOptions& common)
      : process_(process), common_(common), log_(MakeLog(process.err, process.clock, common.log)) {}

  const ProcessContext& process() const { return process_; }
  const CommonOptions& common() const { return common_; }
  /// Events for the operator, on standard error.
  Log& log() const { return *log_; }
  /// The store of this run, as ChooseStore says, or ChooseReservationStore.
  [[nodiscard]] Result<StoreChoice> Store() const;

  using Work = std::function<Result<Exit>(Backend&)>;
  /// Opens the store, works, and closes it, so that all the work did is durable when this returns.
  [[nodiscard]] Result<Exit> WithBackend(Access access, const Work& work);
  /// The same in memory, or in the file that --store names, and nothing else does: for work that
  /// sets limits and fills buckets which are not meant for others. kInvalidArgument: --store names
  /// a table, which is shared.
  [[nodiscard]] Result<Exit> WithScratch(const Work& work);
  using NamespaceWork = std::function<Result<Exit>(NamespaceStore&)>;
  /// Works on the namespaces of a file or of memory. Of a file no data are opened, so that it does
  /// not matter who owns them, nor whether the namespace in the URL is registered.
  [[nodiscard]] Result<Exit> WithNamespaces(Access access, const NamespaceWork& work);
  /// The URL of Store(), ready to be opened.
  [[nodiscard]] Result<std::string> StoreUrl(Access access) const;
  /// How long a store may take to answer, after a wait that is meant.
  Deadline StoreDeadline(nanoseconds wait = nanoseconds(0)) const;
  /// A StoreDeadline at each call, for one request after another. The context must outlive it.
  std::function<Deadline()> EachRequest() const;
  /// The same for so many changes of the configuration, which a store may make in parts: 30 s, and
  /// 5 s more for each hundred.
  Deadline ApplyDeadline(std::size_t changes) const;

  /// What goes to stdout when the verb is done: `json` where --json is given, else `text`. An
  /// object has a member `left_out` if something was.
  void Answer(const nlohmann::ordered_json& json, std::string_view text);
  const std::string& answer() const { return answer_; }
  /// One line for stderr, after the answer: what went wrong in a run that has one.
  void Warn(std::string_view message) { warning_ = message; }
  const std::string& warning() const { return warning_; }
  /// Lines for stderr: what a listing could not read and left out. The exit status stays. Filled
  /// before Answer.
  std::vector<std::string>& left_out() { return left_out_; }
  /// False if a record was left out of a listing, or if the file has a damaged row (reported by
  /// WithBackend) that may be one of these.
  enum class Records { kConfig, kBuckets };
  bool IsWhole(Records records) const;
  /// Both; at most DamageReport::kKept damaged rows.
  std::vector<std::string> AllLeftOut() const;

  /// The exit code after a signal: 128 plus its number.
  Exit Interrupted() const { return static_cast<Exit>(128 + process_.signal()); }

  /// The same error, which names the variable if that named the store.
  Error OfStore(Error error) const;

  /// Whether the verb works on reservations, and the access that it needs to them.
  bool for_reservations = false;
  Access reservation_access = Access::kWrite;
  /// The answer is printed even if the store cannot be closed: a report of what happened.
  bool answer_stands = false;
  /// The exit code if the verb returns an error.
  Exit failure = Exit::kFailed;

 private:
  Result<std::unique_ptr<Backend>> Open(Access access, const std::string& url);
  Result<Exit> WithUrl(Access access, const std::string& url, const Work& work);
  /// One line on stderr if rows of a file did not read.
  void ReportDamage(const Backend& backend);

  const ProcessContext& process_;
  const CommonOptions& common_;
  const std::unique_ptr<Log> log_;
  std::string answer_;
  std::string warning_;
  std::vector<std::string> left_out_;
  std::vector<std::string> damaged_;
};

}  // namespace weir::app
