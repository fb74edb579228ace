#include "weir/zae_table/connection.h"

#include <utility>

#include "weir/aws/service_connection.h"
#include "weir/base/rng.h"
#include "weir/zae_table/zae_layout.h"

namespace weir::dynamo {

// `service` is destroyed after `table`, which uses it.
struct Connection::Parts {
  Parts(const DynamoUrl& from, std::unique_ptr<ServiceConnection> connected)
      : url(from),
        service(std::move(connected)),
        table(service->client(), service->scheduler(), url.table, SystemSeed(), ZaeLayout()) {}

  const DynamoUrl url;
  const std::unique_ptr<ServiceConnection> service;
  Table table;
};

Connection::Connection(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::Open(const DynamoUrl& url, const Clock& clock,
                                                     const HostEnvironment& environment, Log* log) {
  ServiceConnectionOptions options;
  options.service = {.service = "dynamodb",
                     .region = EmptyToNull(url.region),
                     .endpoint_url = EmptyToNull(url.endpoint),
                     .profile = {}};
  options.log = log;
  options.client.target_prefix = "DynamoDB_20120810";
  WEIR_ASSIGN_OR_RETURN(auto service,
                        ServiceConnection::Open(std::move(options), clock, environment));
  return std::unique_ptr<Connection>(
      new Connection(std::make_unique<Parts>(url, std::move(service))));
}

JsonClient& Connection::client() { return parts_->service->client(); }
Table& Connection::table() { return parts_->table; }
Scheduler& Connection::scheduler() { return parts_->service->scheduler(); }
const DynamoUrl& Connection::url() const { return parts_->url; }
RandomBits Connection::Random() { return SystemSeed; }

}  // namespace weir::dynamo
