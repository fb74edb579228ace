// A connection to a DynamoDB table: all objects between a URL and the network.
#pragma once

#include <memory>

#include "weir/aws/service_location.h"
#include "weir/dynamodb/table.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"
#include "weir/zae_table/dynamo_url.h"
#include "weir/zae_table/namespace/namespaces.h"

namespace weir::dynamo {

/// Owns the HTTP client, the credentials, and a thread for timers. Thread-safe. It must be
/// destroyed when no call is pending, and not on one of its own threads.
class Connection {
 public:
  /// Reads files and the environment, and sends no request. Finds region and endpoint as
  /// LocateService does, with its errors. `clock` must be a real clock and outlive the connection.
  /// `log` gets the events of ServiceConnection and must outlive the connection; null: no events
  /// are written.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> Open(const DynamoUrl& url,
                                                                const Clock& clock,
                                                                const HostEnvironment& environment,
                                                                Log* log = nullptr);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  JsonClient& client();
  Table& table();
  Scheduler& scheduler();
  const DynamoUrl& url() const;
  /// Returns a source of 64 random bits from the operating system.
  static RandomBits Random();

 private:
  struct Parts;
  explicit Connection(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace weir::dynamo
