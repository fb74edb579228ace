#include "weir/backends/open_reservations.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "weir/backends/open.h"
#include "weir/base/rng.h"
#include "weir/dynamo/connection.h"
#include "weir/embedded/file_reservations.h"
#include "weir/rate_limiter_py/tables_backend.h"
#include "weir/store/memory_reservations.h"

namespace weir {
namespace {

Result<std::unique_ptr<ReservationBackend>> OpenFile(std::string_view url, const Clock& clock) {
  WEIR_ASSIGN_OR_RETURN(const FileUrl file, ParseFileUrl(url));
  if (!file.namespace_name.empty()) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("'{}': slots of a file have no namespaces; leave ?namespace= away", url));
  }
  return OpenFileReservations(file.path, clock);
}

// The tables together with the connection to them.
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

 private:
  std::unique_ptr<dynamo::Connection> connection_;
  rate_limiter_py::TablesBackend tables_;
};

Result<std::unique_ptr<ReservationBackend>> OpenTables(std::string_view url, const Clock& clock,
                                                       const Surroundings& surroundings) {
  WEIR_ASSIGN_OR_RETURN(const dynamo::DynamoUrl where,
                        dynamo::ParseDynamoUrl(url, surroundings.environment));
  WEIR_ASSIGN_OR_RETURN(rate_limiter_py::TableNames names,
                        rate_limiter_py::FindNames(where.table, surroundings.environment));
  WEIR_ASSIGN_OR_RETURN(auto connection, dynamo::Connection::Open(where, clock, surroundings));
  return std::make_unique<ConnectedTables>(std::move(connection), std::move(names));
}

}  // namespace

Result<std::unique_ptr<ReservationBackend>> OpenReservations(std::string_view url,
                                                             const Clock& clock,
                                                             const Surroundings& surroundings) {
  if (url == "memory:") return MakeMemoryReservations(&clock);
  if (url.starts_with("sqlite:")) return OpenFile(url, clock);
  if (url.starts_with("dynamodb:")) return OpenTables(url, clock, surroundings);
  return BadUrl(url, "slots are kept nowhere else");
}

}  // namespace weir
