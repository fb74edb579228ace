// Compares random sequences of calls with a slow and obvious store of slots.
#include <algorithm>
#include <functional>

#include "weir/store/testing/reservation/reservation_contract.h"
#include "weir/store/testing/reservation/reservation_contract_slots.h"

namespace weir {
namespace {

// One call. Its numbers refer to the slots that exist when it is made.
struct Step {
  enum Kind { kClaim, kClaimAgain, kBind, kRenew, kRelease, kEnd, kList };
  Kind kind;
  milliseconds wait;  // since the step before
  int key;
  int slot;  // the index among all slots that were ever claimed of the key
  int resource;
  int number;  // a limit, a page size less 1, a choice, or the age of an end in units of 5 s
  milliseconds ttl;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  const char* const kinds[] = {"claim", "claim again", "bind", "renew", "release", "end", "list"};
  return out << "\n  +" << step.wait.count() << " ms: " << kinds[step.kind] << ", key " << step.key
             << ", slot " << step.slot << ", resource " << step.resource << ", number "
             << step.number << ", ttl " << step.ttl.count() << " ms";
}

constexpr int kKeys = 2;
constexpr int kResources = 2;

rc::Gen<Step> AnyStep() {
  const auto kind = rc::gen::weightedElement<Step::Kind>({{8, Step::kClaim},
                                                          {2, Step::kClaimAgain},
                                                          {5, Step::kBind},
                                                          {3, Step::kRenew},
                                                          {4, Step::kRelease},
                                                          {3, Step::kEnd},
                                                          {2, Step::kList}});
  const auto millis = [](std::initializer_list<std::int64_t> values) {
    return rc::gen::map(rc::gen::elementOf(std::vector(values)),
                        [](std::int64_t value) { return milliseconds(value); });
  };
  return rc::gen::construct<Step>(kind, millis({0, 1, 999, 1000, 7000, 61'000}),
                                  rc::gen::resize(100, rc::gen::inRange(0, kKeys)),
                                  rc::gen::resize(100, rc::gen::inRange(0, 8)),
                                  rc::gen::resize(100, rc::gen::inRange(0, kResources)),
                                  rc::gen::resize(100, rc::gen::inRange(0, 4)),
                                  millis({1, 5000, 60'000, 300'000}));
}

// Makes each call on both stores. Each run has new names.
class SlotComparison {
 public:
  struct Names {
    std::vector<AccountKey> keys;
    std::vector<std::string> resources;
    std::function<SlotRef(const AccountKey&)> new_slot;
  };
  SlotComparison(ReservationHarness& harness, ReservationClient& store, Names names)
      : harness_(harness), store_(store), names_(std::move(names)), model_(harness.skew()) {}

  void Make(const Step& step) {
    now_ = now_ + step.wait;
    const AccountKey& key = names_.keys[static_cast<std::size_t>(step.key)];
    if (step.kind == Step::kClaim) return Claim(step, names_.new_slot(key));
    if (step.kind == Step::kEnd) return End(step);
    if (step.kind == Step::kList) return List(key, static_cast<std::size_t>(step.number) + 1);
    std::vector<HeldSlot>& ever = model_.ever(key);
    if (ever.empty()) return;
    HeldSlot& slot = ever[static_cast<std::size_t>(step.slot) % ever.size()];
    if (step.kind == Step::kClaimAgain) return ClaimAgain(step, slot);
    if (step.kind == Step::kBind) return Bind(step, slot);
    if (step.kind == Step::kRenew) return Renew(step, slot);
    if (step.number % 2 == 0) return ReleaseUnbound(slot);
    Release(slot);
  }

  void ListAll() {
    for (const AccountKey& key : names_.keys) List(key, 1000);
  }

 private:
  UnixMillis Latest(milliseconds ttl) const { return now_ + ttl + harness_.rounding(ttl); }

  void Claim(const Step& step, const SlotRef& slot) {
    const auto result = store_.Claim({.slot = slot, .limit = step.number, .ttl = step.ttl}, now_);
    RC_ASSERT(result.has_value());
    const ObviousSlots::Counts counts = model_.Count(slot.key, now_);
    if (!result->slot) return CheckRefusal(*result, counts, step);
    RC_ASSERT(counts.least < step.number);
    const UnixMillis expires = result->slot->expires;
    RC_ASSERT(expires >= now_ + step.ttl && expires <= Latest(step.ttl));
    const HeldSlot expected{.key = slot.key,
                            .id = slot.id,
                            .resource_id = slot.id,
                            .claimed = now_,
                            .expires = expires};
    RC_ASSERT(*result->slot == expected);
    model_.ever(slot.key).push_back(expected);
  }

  void CheckRefusal(const ClaimResult& result, const ObviousSlots::Counts& counts,
                    const Step& step) {
    RC_ASSERT(counts.most >= step.number);
    RC_ASSERT(result.in_use >= std::max<std::int64_t>(counts.least, step.number));
    RC_ASSERT(result.in_use <= counts.most);
    if (!result.next_expiry || counts.least != counts.most) return;
    const std::vector<HeldSlot>& ever =
        model_.ever(names_.keys[static_cast<std::size_t>(step.key)]);
    UnixMillis first{INT64_MAX};
    for (const HeldSlot& slot : ever) {
      if (ObviousSlots::IsHeld(slot, now_)) first = std::min(first, slot.expires);
    }
    RC_ASSERT(*result.next_expiry >= first);
    RC_ASSERT(*result.next_expiry - first <= harness_.skew());
  }

  void ClaimAgain(const Step& step, const HeldSlot& slot) {
    if (!ObviousSlots::IsHeld(slot, now_)) return;
    const auto result =
        store_.Claim({.slot = RefOf(slot), .limit = step.number, .ttl = step.ttl}, now_);
    RC_ASSERT(result.has_value());
    RC_ASSERT(result->slot == slot);
  }

  void Bind(const Step& step, HeldSlot& slot) {
    const std::string& resource_id = names_.resources[static_cast<std::size_t>(step.resource)];
    const auto bound = store_.Bind(RefOf(slot), resource_id, step.ttl, now_);
    if (!ObviousSlots::IsHeld(slot, now_)) return CheckCode(bound, Code::kNotFound);
    if (slot.bound() && slot.resource_id != resource_id) {
      return CheckCode(bound, Code::kFailedPrecondition);
    }
    if (!bound) {
      CheckCode(bound, Code::kFailedPrecondition);
      RC_ASSERT(model_.MayHaveEnded(slot, resource_id, now_));
      return ObviousSlots::End(slot);
    }
    RC_ASSERT(!model_.MustHaveEnded(slot, resource_id, now_));
    // A repeated binding may leave a longer life.
    const UnixMillis latest =
        slot.bound() ? std::max(slot.expires, Latest(step.ttl)) : Latest(step.ttl);
    TakeOver(*bound, slot, latest, step.ttl);
    RC_ASSERT(slot.resource_id == resource_id);
  }

  void Renew(const Step& step, HeldSlot& slot) {
    const auto renewed = store_.Renew(RefOf(slot), step.ttl, now_);
    if (!ObviousSlots::IsHeld(slot, now_)) return CheckCode(renewed, Code::kNotFound);
    RC_ASSERT(renewed.has_value());
    RC_ASSERT(renewed->expires >= slot.expires);
    RC_ASSERT(renewed->resource_id == slot.resource_id);
    TakeOver(*renewed, slot, std::max(slot.expires, Latest(step.ttl)), step.ttl);
  }

  void TakeOver(const HeldSlot& told, HeldSlot& slot, UnixMillis latest, milliseconds ttl) {
    RC_ASSERT(told.key == slot.key);
    RC_ASSERT(told.id == slot.id);
    RC_ASSERT(told.claimed == slot.claimed);
    RC_ASSERT(told.expires >= now_ + ttl);
    RC_ASSERT(told.expires <= latest);
    slot = told;
  }

  void Release(HeldSlot& slot) {
    const auto released = store_.Release(RefOf(slot), now_);
    RC_ASSERT(released.has_value());
    RC_ASSERT(*released == ObviousSlots::IsHeld(slot, now_));
    if (*released) ObviousSlots::End(slot);
  }

  void ReleaseUnbound(HeldSlot& slot) {
    const auto released = store_.ReleaseUnbound(RefOf(slot), now_);
    RC_ASSERT(released.has_value());
    RC_ASSERT(*released == (ObviousSlots::IsHeld(slot, now_) && !slot.bound()));
    if (*released) ObviousSlots::End(slot);
  }

  void End(const Step& step) {
    harness_.Settle();
    EndedResource ended{.resource_id = names_.resources[static_cast<std::size_t>(step.resource)],
                        .ended_at = model_.ClearEnd(now_ - milliseconds(5000) * step.number)};
    const auto bound = model_.Bound(ended);
    std::size_t held = 0;
    std::size_t counted = 0;
    for (const HeldSlot* slot : bound) {
      if (ObviousSlots::IsHeld(*slot, now_)) ++held;
      // Its row may still exist.
      if (slot->expires > UnixMillis{0}) ++counted;
    }
    // If some rows are of expired slots, a store may remember the end or not; so it is remembered
    // only if there are none.
    if (counted == held) ended.remember_until = now_ + step.ttl;
    const auto released = store_.ReleaseResource(ended, now_);
    RC_ASSERT(released.has_value());
    RC_ASSERT(*released >= held && *released <= counted);
    for (HeldSlot* slot : bound) ObviousSlots::End(*slot);
    if (counted == held) model_.Remember(ended);
  }

  void List(const AccountKey& key, std::size_t limit) {
    const auto listed =
        AllPages(limit, [&](const PageRequest& page) { return store_.List(key, page, now_); });
    std::vector<HeldSlot> expected;
    for (const HeldSlot& slot : model_.ever(key)) {
      if (ObviousSlots::IsHeld(slot, now_)) expected.push_back(slot);
    }
    std::ranges::sort(expected, {}, &HeldSlot::id);
    RC_ASSERT(listed == expected);
  }

  template <class T>
  static void CheckCode(const Result<T>& result, Code code) {
    RC_ASSERT(!result.has_value());
    RC_ASSERT(result.error().code == code);
  }

  ReservationHarness& harness_;
  ReservationClient& store_;
  Names names_;
  ObviousSlots model_;
  UnixMillis now_ = harness_.now();
};

// Fails if: a method counts, frees, keeps or lists a wrong slot.
TEST_P(ReservationContract, AnySequenceOfCallsAgreesWithAListOfSlots) {
  CheckProperty([this] {
    SlotComparison::Names names;
    for (int i = 0; i < kKeys; ++i) names.keys.push_back(FreshKey());
    for (int i = 0; i < kResources; ++i) names.resources.push_back(Fresh("j"));
    names.new_slot = [this](const AccountKey& key) { return FreshSlot(key); };
    SlotComparison comparison(*harness_, store_, std::move(names));
    for (const Step& step : *rc::gen::container<std::vector<Step>>(AnyStep())) {
      comparison.Make(step);
    }
    comparison.ListAll();
  });
}

}  // namespace
}  // namespace weir
