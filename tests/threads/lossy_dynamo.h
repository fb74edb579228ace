// A simulated DynamoDB for many threads that loses requests and responses.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "weir/aws/json_client.h"
#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/runtime/scheduler.h"
#include "weir/runtime/thread_pool.h"
#include "weir/sim/dynamodb/sim_dynamo.h"

namespace weir {

/// One table. Each call completes before Call returns, on one of two threads, or two milliseconds
/// later on the scheduler. A tenth of the writes and a twentieth of the reads fail, mostly with an
/// unknown outcome. Thread-safe. `scheduler` must outlive it. Call AwaitResults before it is
/// destroyed.
class LossyDynamo final : public JsonClient {
 public:
  LossyDynamo(Scheduler& scheduler, const std::string& table, std::uint64_t seed);

  void Call(JsonCall call, Deadline deadline, JsonDone done) override;
  /// Blocks until each call has completed and each late request has been applied.
  void AwaitResults() const;
  /// Sets whether calls fail from now on. They do not fail before the first call of this.
  void SetFaulty(bool is_faulty) { is_faulty_ = is_faulty; }
  /// Returns the number of failed calls that were applied or will be.
  std::uint64_t applied_failures() const { return applied_failures_; }

 private:
  enum class Fate {
    kCompleted,
    kThrottled,
    kLostRequest,   ///< never applied
    kLostResponse,  ///< applied
    kLateRequest,   ///< applied after its failure was reported
  };
  enum class Way { kAtOnce, kThread, kScheduler };
  struct Draw {
    Fate fate;
    Way way;
  };

  Draw DrawOf(const JsonCall& call);
  void Respond(Fate fate, const JsonCall& call, JsonDone done);
  tl::expected<JsonReply, AwsFailure> Handle(const JsonCall& call);

  Scheduler& scheduler_;
  std::atomic<bool> is_faulty_ = false;
  std::atomic<std::uint64_t> pending_ = 0;
  std::atomic<std::uint64_t> applied_failures_ = 0;
  Mutex mutex_;
  sim::SimDynamo server_ WEIR_GUARDED_BY(mutex_);
  Rng rng_ WEIR_GUARDED_BY(mutex_);
  // The last member, because its threads use all others.
  ThreadPool threads_{2};
};

}  // namespace weir
