#include "weir/reservation/reservation.h"

#include <utility>

#include "weir/reservation/reserved_slot.h"
#include "weir/runtime/await.h"

namespace weir {

Reservation::Reservation(std::shared_ptr<ReservedSlot> slot) : slot_(std::move(slot)) {}

Reservation::Reservation(Reservation&& other) noexcept = default;

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  EndWithoutWaiting();
  slot_ = std::move(other.slot_);
  return *this;
}

Reservation::~Reservation() { EndWithoutWaiting(); }

bool Reservation::active() const { return slot_ != nullptr && slot_->active(); }
bool Reservation::bound() const { return slot_->held().bound(); }
const AccountKey& Reservation::key() const { return slot_->ref().key; }
const std::string& Reservation::id() const { return slot_->ref().id; }
std::string Reservation::resource_id() const { return slot_->held().resource_id; }
UnixMillis Reservation::expires() const { return slot_->held().expires; }
bool Reservation::expired() const { return slot_->expired(); }

Status Reservation::Bind(const std::string& resource_id, std::optional<milliseconds> ttl) {
  return AwaitUnlessInCallback<void>(
      [&](Done<void> done) { Bind(resource_id, ttl, std::move(done)); });
}

void Reservation::Bind(const std::string& resource_id, std::optional<milliseconds> ttl,
                       Done<void> done) {
  if (Status ready = CheckActive(); !ready) return done(std::move(ready));
  slot_->Bind(resource_id, ttl, std::move(done));
}

Status Reservation::Renew(milliseconds ttl) {
  return AwaitUnlessInCallback<void>([&](Done<void> done) { Renew(ttl, std::move(done)); });
}

void Reservation::Renew(milliseconds ttl, Done<void> done) {
  if (Status ready = CheckActive(); !ready) return done(std::move(ready));
  slot_->Renew(ttl, std::move(done));
}

Status Reservation::Release() {
  return AwaitUnlessInCallback<void>([&](Done<void> done) { Release(std::move(done)); });
}

void Reservation::Release(Done<void> done) {
  if (Status ready = CheckActive(); !ready) return done(std::move(ready));
  slot_->Release(std::move(done));
}

Status Reservation::ReleaseUnlessBound() {
  return AwaitUnlessInCallback<void>([&](Done<void> done) { ReleaseUnlessBound(std::move(done)); });
}

void Reservation::ReleaseUnlessBound(Done<void> done) {
  if (Status ready = CheckActive(); !ready) return done(std::move(ready));
  slot_->ReleaseUnlessBound(std::move(done));
}

void Reservation::Keep() && { slot_.reset(); }

Status Reservation::CheckActive() const {
  if (active()) return {};
  return Fail(Code::kFailedPrecondition,
              "the reservation has ended or was moved from; reserve again for a new one");
}

void Reservation::EndWithoutWaiting() {
  if (slot_ != nullptr) std::exchange(slot_, nullptr)->Abandon();
}

}  // namespace weir
