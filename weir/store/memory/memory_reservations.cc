#include "weir/store/memory/memory_reservations.h"

#include <optional>

#include "weir/base/bucket_time.h"
#include "weir/base/mutex.h"
#include "weir/store/memory/memory_rows.h"
#include "weir/store/reservation/row_reservations.h"

namespace weir {
namespace {

class MemoryRowTransactions final : public RowTransactions {
 public:
  explicit MemoryRowTransactions(const Clock* clock) {
    if (clock != nullptr) time_ = BucketTime::FromWall(*clock);
  }

  Status Write(Deadline, const Body& body) override {
    const MutexLock lock(mutex_);
    body(rows_);
    return {};
  }
  Status Read(Deadline deadline, const Body& body) override { return Write(deadline, body); }
  std::string Describe() const override { return "memory:"; }
  std::optional<UnixMillis> Now() const override {
    return time_.transform([](const BucketTime& time) { return time.Now(); });
  }

 private:
  std::optional<BucketTime> time_;
  Mutex mutex_;
  MemoryRows rows_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ReservationBackend> MakeMemoryReservations(const Clock* clock) {
  return MakeRowReservations(std::make_unique<MemoryRowTransactions>(clock));
}

}  // namespace weir
