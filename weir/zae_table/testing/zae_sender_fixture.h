// How a process of zae-limiter sends writes: by botocore, which repeats requests without a
// response.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/zae_table/testing/fleet_ledger_fixture.h"
#include "weir/zae_table/testing/zae_writes_fixture.h"

namespace weir::dynamo {

using ZaeResponse = tl::expected<WriteResponse, WriteFailure>;
using ZaeResponseDone = std::move_only_function<void(const ZaeResponse&)>;

/// Fleet and ledger must outlive it, and it its last write. Not thread-safe.
class ZaeSender {
 public:
  /// `ledger` may be null if no write charges anything.
  ZaeSender(Fleet& fleet, FleetLedger* ledger, std::uint64_t seed);

  /// Sends one write by itself, several as a transaction. Records `charges` in the ledger, with the
  /// number of times that they were stored: a write that is repeated may count again, a transaction
  /// counts once.
  void Send(std::vector<Write> writes, std::vector<Charge> charges, ZaeResponseDone done);

  UnixMillis now() const { return process_.now(); }
  const Keys& keys() const { return keys_; }
  ZaePass Pass() const { return {keys_, now(), write_capacity_}; }
  Table& table() { return table_; }
  sim::SimTransport& network() { return process_.network(); }
  int repeated() const { return repeated_; }

 private:
  struct Sending;
  void Try(const std::shared_ptr<Sending>& sending);
  void OnResponse(const std::shared_ptr<Sending>& sending, const ZaeResponse& response);

  FleetLedger* ledger_;
  Rng rng_;
  SimProcess process_;
  Table table_;
  Keys keys_;
  std::int64_t write_capacity_;
  int repeated_ = 0;
};

}  // namespace weir::dynamo
