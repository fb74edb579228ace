// A simulated process: a clock of its own, and a network connection of its own to one DynamoDB.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/aws/retrying_client.h"
#include "weir/sim/sim_network.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/sim/stoppable_scheduler.h"

namespace weir::dynamo {

/// For a server that checks no signature.
class NoSigner final : public Signer {
 public:
  Status Sign(HttpRequest&, const Credentials&, UnixMillis) override {
    if (fails) return Fail(Code::kUnauthenticated, "simulated signer: no request is signed");
    return {};
  }
  bool fails = false;
};

class Anybody final : public CredentialsProvider {
 public:
  void Get(Deadline, Done<Credentials> done) override {
    done(Credentials{.access_key_id = "test", .secret_access_key = "test"});
  }
};

/// The scheduler and the server must outlive it, and it every call of its client. Not thread-safe.
class SimProcess {
 public:
  /// `skew`: how far its clock is ahead.
  SimProcess(sim::SimScheduler& scheduler, sim::SimServer& server, std::uint64_t seed,
             milliseconds skew);

  /// Makes one attempt for each call, so that the protocol has to deal with lost responses.
  JsonClient& client() { return *client_; }
  /// From now on requests fail before the client returns, as with expired credentials.
  void FailAtOnce() { signer_.fails = true; }
  /// Runs everything in the process.
  sim::StoppableScheduler& scheduler() { return own_scheduler_; }
  sim::SimTransport& network() { return transport_; }
  const sim::SimTransport& network() const { return transport_; }
  /// Returns the time by the process's own clock.
  UnixMillis now() const { return scheduler_.clock().WallNow() + skew_; }
  /// Sets the process's clock ahead or, if negative, behind.
  void SetSkew(milliseconds skew) { skew_ = skew; }

 private:
  sim::SimScheduler& scheduler_;
  milliseconds skew_;
  sim::SimTransport transport_;
  sim::StoppableScheduler own_scheduler_;
  sim::StoppableTransport own_transport_;
  NoSigner signer_;
  Anybody credentials_;
  std::unique_ptr<JsonClient> client_;
};

}  // namespace weir::dynamo
