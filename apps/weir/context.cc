#include "apps/weir/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "apps/weir/store/table_caller.h"
#include "apps/weir/terminal/text.h"
#include "weir/backends/open.h"
#include "weir/embedded/file_namespaces.h"
#include "weir/model/audit_event.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

constexpr std::chrono::seconds kStoreWait{30};
constexpr std::chrono::seconds kHundredChanges{5};

FileUse UseOf(Access access) {
  switch (access) {
    case Access::kRead:
      return FileUse::kRead;
    case Access::kReadBuckets:
      return FileUse::kReadBuckets;
    case Access::kWrite:
      break;
  }
  return FileUse::kOwn;
}

/// Returns the damaged rows of limits, entities and buckets. Rows of an unknown table may be any of
/// these.
std::vector<std::string> ConfigAndBucketDamage(const DamageReport& damage) {
  std::vector<std::string> lines;
  for (const auto& [table, count] : damage.by_table()) {
    if (table == "audit" || table == "usage" || table == "clock" || table == "namespace") continue;
    const std::size_t before = lines.size();
    std::ranges::copy_if(damage.first(), std::back_inserter(lines),
                         [&](const std::string& line) { return line.starts_with(table + ' '); });
    const std::size_t more = count - (lines.size() - before);
    if (more > 0) lines.push_back(fmt::format("{}: {} more rows", table, more));
  }
  return lines;
}

}  // namespace

HostEnvironment HostEnvironmentOf(const ProcessContext& process) {
  HostEnvironment surroundings = ProcessEnvironment();
  surroundings.environment = [environment = process.environment](std::string_view name) {
    return environment(std::string(name));
  };
  return surroundings;
}

Status SleepUntil(Scheduler& scheduler, Instant at) {
  return Await<void>(
      [&](Done<void> done) { scheduler.At(at, [done = std::move(done)]() mutable { done({}); }); });
}

Result<StoreChoice> Context::Store() const {
  return for_reservations ? ChooseReservationStore(process_, common_.store)
                          : ChooseStore(process_, common_.store);
}

Result<std::optional<std::string>> Context::NamedPrincipal() const {
  if (common_.by) return common_.by;
  const std::string named = process_.environment("WEIR_BY").value_or("");
  if (named.empty()) return std::nullopt;
  const Status valid = CheckPrincipal(named);
  if (!valid) return Fail(valid.error().code, "WEIR_BY: " + valid.error().message);
  return std::optional(named);
}

std::optional<std::string> Context::CallerOfStore() const {
  const Result<StoreChoice> choice = Store();
  if (!choice) return std::nullopt;
  Result<std::optional<std::string>> caller =
      process_.find_caller
          ? process_.find_caller(choice->url)
          : FindCaller(choice->url, process_.clock, HostEnvironmentOf(process_), log());
  const Status valid = caller && *caller ? CheckPrincipal(**caller) : Status();
  if (caller && valid) return *std::move(caller);
  process_.err << fmt::format(
      "weir: the audit log names {} as the author, because the caller's ARN is unknown: {}\n",
      process_.user.empty() ? "-" : process_.user,
      caller ? valid.error().message : caller.error().message);
  return std::nullopt;
}

Result<std::optional<std::string>> Context::Principal() {
  if (principal_) return *principal_;
  WEIR_ASSIGN_OR_RETURN(std::optional<std::string> found, NamedPrincipal());
  if (!found) found = CallerOfStore();
  if (!found && CheckPrincipal(process_.user)) found = process_.user;
  principal_ = found;
  return found;
}

Result<std::unique_ptr<Backend>> Context::Open(Access access, const std::string& url) {
  BackendOptions options;
  const bool is_needed = access == Access::kWrite && is_audited;
  Result<std::optional<std::string>> principal = is_needed ? Principal() : NamedPrincipal();
  if (!principal) {
    failure = Exit::kUsage;
    return Fail(principal.error());
  }
  options.principal = *std::move(principal);
  options.file_use = UseOf(access);
  options.embedded.durability = common_.durability;
  options.embedded.lock_wait.longest = common_.lock_wait;
  options.surroundings = HostEnvironmentOf(process_);
  options.log = &log();
  Result<std::unique_ptr<Backend>> backend = process_.open_backend
                                                 ? process_.open_backend(url)
                                                 : OpenBackend(url, process_.clock, options);
  if (backend) return backend;
  if (backend.error().code == Code::kInvalidArgument) failure = Exit::kUsage;
  Error error = OfStore(std::move(backend.error()));
  const bool is_owned =
      error.code == Code::kUnavailable && error.message.find(": in use by ") != std::string::npos;
  if (is_owned) error.message += "; --lock-wait DURATION waits longer for it";
  return Fail(std::move(error));
}

void Context::ReportDamage(const Backend& backend) {
  const auto* file = dynamic_cast<const DamageSource*>(&backend);
  if (file == nullptr || file->damage().count() == 0) return;
  const std::size_t count = file->damage().count();
  process_.err << fmt::format("weir: {}: {} damaged {} left out, the first: {}; see {}\n",
                              backend.Describe(), count, count == 1 ? "row is" : "rows are",
                              file->damage().first().front(), QuotedCommand("store check"));
  damaged_ = ConfigAndBucketDamage(file->damage());
}

bool Context::IsComplete(Records records) const {
  const auto is_other = [records](std::string_view line) {
    // Each line begins with the name of its table; a page may contain rows of any table.
    const std::string_view table = line.substr(0, line.find_first_of(" :"));
    const bool is_of_config = table == "entity" || table == "level";
    const bool is_of_buckets = table == "bucket" || table == "change";
    return records == Records::kConfig ? is_of_buckets : is_of_config;
  };
  return left_out_.empty() && std::ranges::all_of(damaged_, is_other);
}

std::vector<std::string> Context::AllLeftOut() const {
  std::vector<std::string> all = left_out_;
  std::ranges::copy(damaged_, std::back_inserter(all));
  return all;
}

// A failure of `work` has priority over a failure of the close.
Result<Exit> Context::WithUrl(Access access, const std::string& url, const Work& work) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, Open(access, url));
  ReportDamage(*backend);
  Result<Exit> done = work(*backend);
  const Status closed = backend->Close();
  if (!done || closed) return done;
  if (!print_output_if_close_fails) return Fail(closed.error());
  Warn(closed.error().message);
  return Exit::kFailed;
}

Result<Exit> Context::WithBackend(Access access, const Work& work) {
  WEIR_ASSIGN_OR_RETURN(const std::string url, StoreUrl(access));
  return WithUrl(access, url, work);
}

Result<Exit> Context::WithScratch(const Work& work) {
  if (!common_.store) return WithUrl(Access::kWrite, "memory:", work);
  if (common_.store->starts_with("dynamodb:")) {
    failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument,
                fmt::format("--store {}: a table is shared with others, and this command sets "
                            "limits and fills buckets of its own; omit --store, or write "
                            "sqlite:PATH of a new file",
                            *common_.store));
  }
  return WithBackend(Access::kWrite, work);
}

Result<std::string> Context::StoreUrl(Access access) {
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, Store());
  Result<std::string> url = UrlToOpen(choice, access);
  if (url) return url;
  if (url.error().code == Code::kInvalidArgument) failure = Exit::kUsage;
  return Fail(OfStore(std::move(url.error())));
}

std::string Context::QuotedCommand(std::string_view subcommand) const {
  if (!common_.store) return fmt::format("'weir {}'", subcommand);
  return fmt::format("'weir {} --store {}'", subcommand, *common_.store);
}

Error Context::OfStore(Error error) const {
  const Result<StoreChoice> choice = Store();
  if (choice && choice->source == StoreSource::kEnvironment) {
    error.message = "WEIR_STORE: " + error.message;
  }
  return error;
}

Result<Exit> Context::WithNamespaces(Access access, const NamespaceWork& work) {
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, Store());
  const std::optional<std::string> file = FileOfUrl(choice.url);
  if (!file) {
    return WithBackend(access, [&](Backend& backend) { return work(backend.namespaces()); });
  }
  WEIR_RETURN_IF_ERROR(StoreUrl(access));
  FileNamespaces spaces(NamespaceRegistry(*file, "", log()), process_.clock);
  return work(spaces);
}

Deadline Context::StoreDeadline(nanoseconds wait) const {
  return Deadline::After(process_.clock, wait + kStoreWait);
}

std::function<Deadline()> Context::RequestDeadlines() const {
  return [this] { return StoreDeadline(); };
}

Deadline Context::ApplyDeadline(std::size_t changes) const {
  return StoreDeadline(kHundredChanges * static_cast<std::int64_t>(changes / 100));
}

void Context::WriteResult(const nlohmann::ordered_json& json, std::string_view text) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  nlohmann::ordered_json whole = json;
  const std::vector<std::string> left_out = AllLeftOut();
  if (!left_out.empty() && whole.is_object()) whole["left_out"] = left_out;
  result_ = common_.json ? whole.dump(-1, ' ', false, Handler::replace) : EscapeControls(text);
  if (!result_.empty() && result_.back() != '\n') result_ += '\n';
}

}  // namespace weir::app
