#include "weir/store/memory_reservations.h"

#include "weir/base/mutex.h"
#include "weir/store/memory_rows.h"
#include "weir/store/row_reservations.h"

namespace weir {
namespace {

class MemoryPlace final : public ReservationPlace {
 public:
  Status Write(Deadline, const Body& body) override {
    const MutexLock lock(mutex_);
    body(rows_);
    return {};
  }
  Status Read(Deadline deadline, const Body& body) override { return Write(deadline, body); }
  std::string Describe() const override { return "memory:"; }

 private:
  Mutex mutex_;
  MemoryRows rows_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ReservationBackend> MakeMemoryReservations() {
  return MakeRowReservations(std::make_unique<MemoryPlace>());
}

}  // namespace weir
