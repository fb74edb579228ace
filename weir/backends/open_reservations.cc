#include "weir/backends/open_reservations.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "weir/backends/open.h"
#include "weir/base/rng.h"
#include "weir/embedded/reservation/file_reservations.h"
#include "weir/embedded/reservation/queued_reservations.h"
#include "weir/rate_limiter_py/tables_backend.h"
#include "weir/rate_limiter_py/tables_url.h"
#include "weir/runtime/loop.h"
#include "weir/store/memory/memory_reservations.h"
#include "weir/store/reservation/closing_reservations.h"
#include "weir/zae_table/connection.h"

namespace weir {
namespace {

// A file, the thread that works on it, and the thread that fires the deadlines of waiting calls.
class QueuedFile final : public ReservationBackend {
 public:
  QueuedFile(std::unique_ptr<ReservationBackend> file, const Clock& clock)
      : loops_(std::make_unique<Loops>(clock)),
        queued_(QueueReservations(std::move(file), loops_->worker, loops_->timers)) {}
  ~QueuedFile() override { loops_.reset(); }  // ends the running tasks before queued_ is destroyed

  ReservationStore& slots() override { return queued_->slots(); }
  AccountLimitStore& limits() override { return queued_->limits(); }
  TokenStore& tokens() override { return queued_->tokens(); }
  std::string Describe() const override { return queued_->Describe(); }
  std::optional<UnixMillis> OwnTime() const override { return queued_->OwnTime(); }

 private:
  struct Loops {
    explicit Loops(const Clock& clock) : timers(clock), worker(clock) {}
    Loop timers;
    Loop worker;  // destroyed first: its tasks cancel timers
  };
  std::unique_ptr<Loops> loops_;
  const std::unique_ptr<ReservationBackend> queued_;
};

Result<std::unique_ptr<ReservationBackend>> OpenFile(std::string_view url, const Clock& clock) {
  WEIR_ASSIGN_OR_RETURN(const FileUrl file, ParseFileUrl(url));
  if (!file.namespace_name.empty()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("'{}': slots of a file have no namespaces; omit ?namespace=", url));
  }
  WEIR_ASSIGN_OR_RETURN(auto reservations, OpenFileReservations(file.path, clock));
  return MakeClosing(std::make_unique<QueuedFile>(std::move(reservations), clock));
}

// rate-limiter-py's tables, and the connection to them.
class ConnectedTables final : public ReservationBackend {
 public:
  ConnectedTables(std::unique_ptr<dynamo::Connection> connection, rate_limiter_py::TableNames names)
      : connection_(std::move(connection)),
        tables_(connection_->client(), connection_->scheduler(), std::move(names),
                {.seed = SystemSeed()}) {}

  ReservationStore& slots() override { return tables_.slots(); }
  AccountLimitStore& limits() override { return tables_.limits(); }
  TokenStore& tokens() override { return tables_.tokens(); }
  std::string Describe() const override { return tables_.Describe(); }
  std::optional<UnixMillis> OwnTime() const override { return tables_.OwnTime(); }

 private:
  std::unique_ptr<dynamo::Connection> connection_;
  rate_limiter_py::TablesBackend tables_;
};

Result<std::unique_ptr<ReservationBackend>> OpenTables(std::string_view url, const Clock& clock,
                                                       const HostEnvironment& environment,
                                                       Log* log) {
  WEIR_ASSIGN_OR_RETURN(rate_limiter_py::TablesUrl where,
                        rate_limiter_py::ParseTablesUrl(url, environment.environment));
  const dynamo::DynamoUrl service{
      .table = where.names.slots, .region = where.region, .endpoint = where.endpoint};
  WEIR_ASSIGN_OR_RETURN(auto connection,
                        dynamo::Connection::Open(service, clock, environment, log));
  return MakeClosing(
      std::make_unique<ConnectedTables>(std::move(connection), std::move(where.names)));
}

std::string WhyNoSlots(std::string_view url) {
  if (!url.contains(':')) return NoScheme(url);
  if (url.starts_with("dynamodb:")) return "a table of zae-limiter keeps no slots";
  if (url.starts_with("memory:")) return std::string(kMemoryHasNoName);
  return "no store of slots has this scheme";
}

tl::unexpected<Error> NoSlots(std::string_view url) {
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}': {}; write memory:, sqlite:PATH or rate-limiter-py://BASE",
                          url.substr(0, url.find('?')), WhyNoSlots(url)));
}

}  // namespace

Result<std::unique_ptr<ReservationBackend>> OpenReservations(std::string_view url,
                                                             const Clock& clock,
                                                             const HostEnvironment& environment,
                                                             Log* log) {
  if (url == "memory:") return MakeClosing(MakeMemoryReservations(&clock));
  if (url.starts_with("sqlite:")) return OpenFile(url, clock);
  if (url.starts_with(rate_limiter_py::kUrlScheme)) {
    return OpenTables(url, clock, environment, log);
  }
  return NoSlots(url);
}

}  // namespace weir
