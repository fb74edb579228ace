// A table that calls can be made to: everything between a URL and the network.
#pragma once

#include <memory>

#include "weir/aws/service_location.h"
#include "weir/dynamo/dynamo_url.h"
#include "weir/dynamo/namespaces.h"
#include "weir/dynamo/table.h"
#include "weir/runtime/scheduler.h"
#include "weir/telemetry/log.h"

namespace weir::dynamo {

/// Owns the network, the credentials and a thread for what is due later. Thread-safe. Destroy it
/// when no call is under way, and from none of its threads.
class Connection {
 public:
  /// Reads files and environment; asks nobody yet. Region and endpoint as LocateService finds them,
  /// with its errors. `clock` must be a real one and outlive it.
  /// `log`, which must outlive it, gets the events of ServiceConnection; null: none are written.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> Open(const DynamoUrl& url,
                                                                const Clock& clock,
                                                                const HostEnvironment& surroundings,
                                                                Log* log = nullptr);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  JsonClient& client();
  Table& table();
  Scheduler& scheduler();
  const DynamoUrl& url() const;
  /// 64 bits from the system.
  static RandomBits Random();

 private:
  struct Parts;
  explicit Connection(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace weir::dynamo
