// Distinguishes the writes of clients of zae-limiter on a simulated table.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "weir/sim/dynamodb/dynamo_table.h"
#include "weir/sim/dynamodb/sim_dynamo.h"
#include "weir/sim/sim_server.h"

namespace weir::dynamo {

/// Passes the requests of clients of zae-limiter to the server, and records the changes that they
/// make. The server must outlive it, and must have the table before the first request. Not
/// thread-safe.
class PeerWrites final : public sim::SimServer {
 public:
  PeerWrites(sim::SimDynamo& server, std::string_view table) : server_(server), table_(table) {}

  HttpResponse Handle(const HttpRequest& request) override;

  bool Made(const sim::StreamRecord& record) const { return writes_.contains(record.sequence); }
  /// Returns true for a correction after the decision: it requires only that the bucket exists.
  bool IsAdjust(const sim::StreamRecord& record) const;

 private:
  sim::SimDynamo& server_;
  std::string_view table_;
  std::map<std::uint64_t, bool> writes_;  // whether a write is an adjust, keyed by sequence
};

}  // namespace weir::dynamo
