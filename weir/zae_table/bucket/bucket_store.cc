#include "weir/zae_table/bucket/bucket_store.h"

#include <algorithm>
#include <utility>

#include "weir/zae_table/actor/bucket_driver.h"
#include "weir/zae_table/bucket/bucket_listing.h"
#include "weir/zae_table/bucket/bucket_reader.h"

namespace weir::dynamo {
namespace {

CallRequest RequestOf(CallRequest::Kind kind, std::span<const Charge> charges, UnixMillis now,
                      Deadline deadline) {
  return {.kind = kind,
          .charges = {charges.begin(), charges.end()},
          .now = now,
          .began_at = {},
          .deadline = deadline};
}

}  // namespace

DynamoBucketStore::DynamoBucketStore(Table& table, Keys keys, Scheduler& scheduler,
                                     const BucketStoreOptions& options)
    : table_(table),
      keys_(std::move(keys)),
      driver_(std::make_shared<BucketDriver>(table, keys_, scheduler, options)),
      reader_(std::make_shared<BucketReader>(
          table, keys_, scheduler.clock(),
          std::clamp(options.refusal_age, milliseconds(0), kLongestRefusalAge), driver_)) {}

DynamoBucketStore::~DynamoBucketStore() { driver_->Stop(); }

void DynamoBucketStore::Forget(std::string_view entity) { driver_->ForgetEntity(entity); }

void DynamoBucketStore::Close(Deadline deadline, Done<void> done) {
  driver_->Close(deadline, std::move(done));
}

void DynamoBucketStore::AwaitRequests() { driver_->AwaitRequests(); }

std::int64_t DynamoBucketStore::forfeits() const { return driver_->forfeits(); }

void DynamoBucketStore::Acquire(std::span<const Charge> charges, UnixMillis now, Deadline deadline,
                                Done<Decision> done) {
  if (const Status valid = CheckAcquire(charges); !valid) return done(Fail(valid.error()));
  driver_->Start(RequestOf(CallRequest::Kind::kAcquire, charges, now, deadline), std::move(done));
}

void DynamoBucketStore::AcquireAndKeep(std::span<const Charge> charges, UnixMillis now,
                                       Deadline deadline, Done<Decision> done) {
  if (const Status valid = CheckAcquire(charges); !valid) return done(Fail(valid.error()));
  CallRequest request = RequestOf(CallRequest::Kind::kAcquire, charges, now, deadline);
  request.keeps = true;
  driver_->Start(std::move(request), std::move(done));
}

void DynamoBucketStore::Adjust(std::span<const Charge> charges, const AdjustTerms& terms,
                               UnixMillis now, Deadline deadline, Done<void> done) {
  if (const Status valid = CheckAdjust(charges); !valid) return done(Fail(valid.error()));
  CallRequest request = RequestOf(CallRequest::Kind::kAdjust, charges, now, deadline);
  request.adjust_id = terms.id;
  request.is_recorded = terms.is_shared;
  request.stores_limits = terms.stores_limits;
  request.counts_by = terms.counts_by;
  driver_->Start(std::move(request), [done = std::move(done)](Result<Decision> decision) mutable {
    done(decision ? Status() : Status(Fail(std::move(decision.error()))));
  });
}

void DynamoBucketStore::Conform(TargetPtr target, Deadline deadline, Done<void> done) {
  driver_->Conform(std::move(target), deadline, std::move(done));
}

void DynamoBucketStore::Read(std::span<const BucketKey> keys, Deadline deadline,
                             Done<std::vector<std::optional<BucketRecord>>> done) {
  reader_->Read(keys, deadline, std::move(done));
}

void DynamoBucketStore::ReadRecent(std::span<const BucketKey> keys, Deadline deadline,
                                   Done<std::vector<std::optional<BucketRecord>>> done) {
  reader_->ReadRecent(keys, deadline, std::move(done));
}

void DynamoBucketStore::List(const BucketFilter& filter, const PageRequest& page, Deadline deadline,
                             Done<Page<BucketRecord>> done) {
  ListBuckets(table_, keys_, filter, page, deadline, std::move(done));
}

}  // namespace weir::dynamo
