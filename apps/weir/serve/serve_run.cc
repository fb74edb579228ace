#include "apps/weir/serve/serve_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "apps/weir/commands/limits_verbs.h"
#include "apps/weir/files.h"
#include "apps/weir/limits/limits_plan.h"
#include "apps/weir/serve/file_watch.h"
#include "apps/weir/serve/process_setup.h"
#include "apps/weir/serve/service_manager.h"
#include "apps/weir/serve/service_options.h"
#include "apps/weir/terminal/signal_pipe.h"
#include "weir/limiter/limiter_metrics.h"
#include "weir/model/limits_file.h"
#include "weir/rules/rules_file.h"
#include "weir/runtime/await.h"
#include "weir/service/rate_limit_server.h"

namespace weir::app {
namespace {

constexpr nanoseconds kServePoll = std::chrono::milliseconds(100);
constexpr nanoseconds kFilePoll = std::chrono::seconds(1);
constexpr nanoseconds kPolicyInterval = std::chrono::minutes(1);
constexpr nanoseconds kPolicyRetry = std::chrono::seconds(10);
// The main thread, which feeds the watchdog, waits for the read.
constexpr nanoseconds kPolicyTime = std::chrono::milliseconds(500);

// A file that lacks records, because it is the wrong one or was cut short, must not delete limits
// without a question that only `weir limits apply` can ask.
Status CheckDeletes(const ServeOptions& options, std::size_t deletes) {
  if (deletes == 0 || options.limits_may_delete) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("{}: it would delete {} of the store's records; 'weir "
                          "limits plan' shows them; apply it by 'weir limits apply', or give "
                          "--limits-may-delete",
                          options.limits, deletes));
}

// Returns the changes that the file makes; none without a file.
Result<Plan> PlanLimitsFile(const ServeOptions& options, Context& context, Backend& backend) {
  if (options.limits.empty()) return Plan();
  LimitsOptions limits;
  limits.file = options.limits;
  WEIR_ASSIGN_OR_RETURN(const LimitsSource source, ReadLimitsFile(limits, context));
  WEIR_ASSIGN_OR_RETURN(ScopedPlan planned, MakeScopedPlan(limits, source, context, backend));
  WEIR_RETURN_IF_ERROR(CheckDeletes(options, planned.plan.Count(PlannedAction::kDelete)));
  return std::move(planned.plan);
}

Status ApplyLimits(const Plan& plan, Context& context, Backend& backend) {
  WEIR_RETURN_IF_ERROR(
      ApplyPlan(plan, backend.config(), context.ApplyDeadline(plan.ToApply().size())));
  const auto number = [](std::size_t count) { return static_cast<std::int64_t>(count); };
  const std::array fields = {LogField{"created", number(plan.Count(PlannedAction::kCreate))},
                             LogField{"updated", number(plan.Count(PlannedAction::kUpdate))},
                             LogField{"deleted", number(plan.Count(PlannedAction::kDelete))}};
  context.log().Write(LogLevel::kInfo, "service.limits_applied", fields);
  return {};
}

/// The service between its start and its end.
class ServiceRun {
 public:
  ServiceRun(const ServeOptions& options, Context& context, Backend& backend,
             const service::RateLimitServerOptions& server)
      : options_(options),
        context_(context),
        process_(context.process()),
        backend_(backend),
        limiter_(backend, process_.scheduler, {.log = &context.log()}),
        server_(limiter_, process_.clock, server, context.log()),
        manager_(process_),
        rules_file_(options.rules),
        tokens_file_(options.tokens) {}

  /// Reads the files, whose later changes the watches notice.
  Status Start() {
    WEIR_ASSIGN_OR_RETURN(rules::RuleSet rules, ReadRules(options_));
    WEIR_ASSIGN_OR_RETURN(const service::AccessTokensPtr tokens, ReadTokens(options_));
    WEIR_ASSIGN_OR_RETURN(const Plan limits, PlanLimitsFile(options_, context_, backend_));
    // A service that cannot listen must not change the limits. Clients that connect meanwhile wait
    // until they are applied.
    WEIR_RETURN_IF_ERROR(server_.Listen());
    if (!options_.limits.empty()) {
      WEIR_RETURN_IF_ERROR(ApplyLimits(limits, context_, backend_));
    }
    ReadPolicy(process_.clock.Now());
    const std::size_t count = rules.rules().size();
    WEIR_RETURN_IF_ERROR(server_.Start(std::move(rules), tokens));
    WEIR_RETURN_IF_ERROR(server_.RegisterMetrics(registry_));
    WEIR_RETURN_IF_ERROR(weir::RegisterMetrics(registry_, limiter_));
    WEIR_RETURN_IF_ERROR(backend_.RegisterMetrics(registry_));
    WEIR_RETURN_IF_ERROR(
        RegisterLoads("weir_service_rules_loads_total", "Loads of the rules file.", rules_loads_));
    WEIR_RETURN_IF_ERROR(RegisterLoads("weir_service_tokens_loads_total",
                                       "Loads of the tokens file.", tokens_loads_));
    server_.ExportMetrics(registry_);
    rules_loads_.ok.Add();
    if (tokens != nullptr) tokens_loads_.ok.Add();
    Announce(count);
    WarnUnlessGranted(tokens);
    manager_.NotifyReady();
    return {};
  }

  Status RunUntilSignal() {
    Instant poll_files_at = process_.clock.Now() + kFilePoll;
    while (!process_.interrupted()) {
      const Instant now = process_.clock.Now();
      manager_.NotifyAlive(now);
      bool is_hangup = false;
      while (const auto caught = ReadSignal()) is_hangup |= caught->number == SIGHUP;
      const bool is_poll_due = now >= poll_files_at;
      if (is_poll_due) poll_files_at = now + kFilePoll;
      ReadPolicy(now);
      if (is_hangup) ReloadTls();
      if (is_poll_due || is_hangup) ReloadRules(now, is_hangup);
      if (is_poll_due || is_hangup) ReloadTokens(now, is_hangup);
      WEIR_RETURN_IF_ERROR(SleepUntil(process_.scheduler, now + kServePoll));
    }
    return {};
  }

  /// Ends the connections, and then the decisions that are in flight.
  Status Drain() {
    manager_.NotifyStopping();
    const Deadline deadline = Deadline::After(process_.clock, options_.drain_timeout);
    WEIR_ASSIGN_OR_RETURN(const transport::DrainResult drained, server_.Drain(deadline));
    const Deadline idle_by = Deadline::After(process_.clock, options_.store_timeout);
    while (!server_.IsIdle() && !idle_by.ExpiredAt(process_.clock.Now())) {
      WEIR_RETURN_IF_ERROR(SleepUntil(process_.scheduler, process_.clock.Now() + kServePoll));
    }
    const std::array fields = {LogField{"ended", static_cast<std::int64_t>(drained.ended)},
                               LogField{"cut", static_cast<std::int64_t>(drained.cut)}};
    context_.log().Write(LogLevel::kInfo, "service.drained", fields);
    // What the store still works on completes here: the limiter outlives all of its calls.
    return server_.IsIdle() ? Status() : backend_.Close();
  }

 private:
  void Announce(std::size_t rules) {
    process_.out << fmt::format("serving gRPC on {}", fmt::join(server_.grpc_addresses(), ", "));
    const auto admin = server_.admin_addresses();
    if (!admin.empty()) process_.out << fmt::format("; metrics on {}", fmt::join(admin, ", "));
    process_.out << fmt::format("; store {}; {}\n", backend_.Describe(), CountOfRules(rules))
                 << std::flush;
    if (rules == 0) WarnOfNoRules();
    if (backend_.Describe().starts_with("memory")) {
      Warn("service.memory_store",
           "each process counts by itself: several replicas admit the sum of their limits");
    }
  }

  struct Loads {
    Counter ok;
    Counter failed;
    bool is_refused = false;  ///< the last load failed
  };
  Status RegisterLoads(const char* name, const char* help, const Loads& loads) {
    WEIR_RETURN_IF_ERROR(
        registry_.Add({.name = name, .help = help, .labels = {{"result", "ok"}}}, loads.ok));
    return registry_.Add({.name = name, .help = help, .labels = {{"result", "error"}}},
                         loads.failed);
  }

  // A request whose rules have limits of their own reads no level, but follows on_unavailable of
  // the system level. The limiter keeps the last value that it read, so this read keeps it up to
  // date.
  void ReadPolicy(Instant now) {
    if (now < read_policy_at_) return;
    const auto resolved =
        limiter_.Resolve("weir.serve", "weir.serve", Deadline::After(process_.clock, kPolicyTime));
    // kInvalidArgument is the result of a read too: this pair has no limits.
    const bool is_read = resolved || resolved.error().code == Code::kInvalidArgument;
    read_policy_at_ = now + (is_read ? kPolicyInterval : kPolicyRetry);
  }

  void Warn(std::string_view event, std::string_view message) {
    const std::array fields = {LogField{"message", message}};
    context_.log().Write(LogLevel::kWarning, event, fields);
  }

  void WarnOfNoRules() {
    Warn("service.no_rules",
         options_.rules.empty()
             ? "without rules every request passes: give --rules"
             : "without rules every request passes: " + options_.rules + " has none");
  }

  // Such a file is valid: it revokes every token.
  void WarnUnlessGranted(const service::AccessTokensPtr& tokens) {
    if (tokens == nullptr || tokens->HasTokenFor(service::AccessScope::kDecide)) return;
    Warn("service.no_tokens",
         "every request is refused: no token of " + options_.tokens + " has the scope decide");
  }

  void NoteRefused(Loads& loads, std::string_view event, const Error& error) {
    loads.failed.Add();
    loads.is_refused = true;
    Warn(event, error.message);
  }

  // The end of a refusal has the level of the refusal: a log that shows the one shows the other.
  void NoteLoaded(Loads& loads, std::string_view event, const LogField& field) {
    loads.ok.Add();
    const LogLevel level = loads.is_refused ? LogLevel::kWarning : LogLevel::kInfo;
    loads.is_refused = false;
    context_.log().Write(level, event, {&field, 1});
  }

  // If the file cannot be used, the rules in force remain, and the file is read again when it
  // changes, and after 10 s.
  void ReloadRules(Instant now, bool is_hangup) {
    if ((!rules_file_.HasChanged(now) && !is_hangup) || options_.rules.empty()) return;
    auto rules = ReadRules(options_);
    if (!rules) {
      rules_file_.NoteFailure(now);
      return NoteRefused(rules_loads_, "service.rules_refused", rules.error());
    }
    rules_file_.Acknowledge();
    const std::size_t count = rules->rules().size();
    server_.SetRules(*std::move(rules));
    NoteLoaded(rules_loads_, "service.rules_loaded", {"rules", static_cast<std::int64_t>(count)});
    if (count == 0) WarnOfNoRules();
  }

  void ReloadTokens(Instant now, bool is_hangup) {
    if ((!tokens_file_.HasChanged(now) && !is_hangup) || options_.tokens.empty()) return;
    auto tokens = ReadTokens(options_);
    if (!tokens) {
      tokens_file_.NoteFailure(now);
      return NoteRefused(tokens_loads_, "service.tokens_refused", tokens.error());
    }
    tokens_file_.Acknowledge();
    server_.SetTokens(*tokens);
    NoteLoaded(tokens_loads_, "service.tokens_loaded",
               {"tokens", static_cast<std::int64_t>((*tokens)->size())});
    WarnUnlessGranted(*tokens);
  }

  void ReloadTls() {
    const Status reloaded = server_.ReloadTls();
    if (!reloaded) Warn("service.tls_refused", reloaded.error().message);
  }

  const ServeOptions& options_;
  Context& context_;
  const ProcessContext& process_;
  Backend& backend_;
  Limiter limiter_;
  Registry registry_;
  Loads rules_loads_;
  Loads tokens_loads_;
  Instant read_policy_at_{};
  service::RateLimitServer server_;
  ServiceManager manager_;
  FileWatch rules_file_;
  FileWatch tokens_file_;
};

}  // namespace

Result<rules::RuleSet> ReadRules(const ServeOptions& options) {
  if (options.rules.empty()) return rules::RuleSet();
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.rules));
  return rules::ParseRules(text, options.rules);
}

std::string CountOfRules(std::size_t rules) {
  return fmt::format("{} {}", rules, rules == 1 ? "rule" : "rules");
}

Result<service::AccessTokensPtr> ReadTokens(const ServeOptions& options) {
  if (options.tokens.empty()) return service::AccessTokensPtr();
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.tokens));
  WEIR_ASSIGN_OR_RETURN(service::AccessTokens tokens,
                        service::ParseAccessTokens(text, options.tokens));
  return std::make_shared<const service::AccessTokens>(std::move(tokens));
}

namespace {

// Reports that fewer connections can be open than the operator has configured, or than the default.
void ReportBound(const ServeOptions& options, std::size_t bound, Log& log) {
  if (options.max_connections <= bound) return;
  const auto configured = static_cast<std::int64_t>(options.max_connections);
  const std::array fields = {LogField{"configured", configured},
                             LogField{"bound", static_cast<std::int64_t>(bound)},
                             LogField{"descriptors", static_cast<std::int64_t>(DescriptorLimit())}};
  const LogLevel level = options.is_max_connections_given ? LogLevel::kWarning : LogLevel::kInfo;
  log.Write(level, "service.connections_bounded", fields);
}

}  // namespace

Result<Exit> RunService(const ServeOptions& options, Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const auto server,
                        ServiceOptionsOf(options, context.process(), DescriptorLimit()));
  // The first call of interrupted() installs the handlers: before the announcement, whose reader
  // may send a signal.
  if (context.process().interrupted()) return Exit::kDone;
  ServiceRun run(options, context, backend, server);
  Status served = run.Start();
  if (served) ReportBound(options, server.grpc.max_connections, context.log());
  if (served) served = run.RunUntilSignal();
  if (served) served = run.Drain();
  if (served) return Exit::kDone;
  // The decisions in flight must end before the loops on which they respond are gone.
  static_cast<void>(backend.Close());
  return Fail(std::move(served.error()));
}

}  // namespace weir::app
