// Test support for this module: slots, limits and tokens in memory. Records calls, and can delay,
// fail or lose their results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/memory/memory_reservations.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir {

/// Returns the results of inner(), unless a test changes them. Not thread-safe.
class ProbeReservations final : public ReservationBackend,
                                public ReservationStore,
                                public AccountLimitStore,
                                public TokenStore {
 public:
  /// Returns the backend itself; calls to it are neither recorded nor changed.
  ReservationBackend& inner() { return inner_; }
  /// Puts the row, and replaces an existing one.
  void PutLimit(AccountLimitRow row) {
    PutAccountLimit put{.row = std::move(row), .seen = {}};
    inner_.limits().Get(put.row.key, Deadline::Never(),
                        [&](Result<std::optional<AccountLimitRow>> seen) { put.seen = *seen; });
    inner_.limits().Change(put, Deadline::Never(), [](const Status&) {});
  }

  ReservationStore& slots() override { return *this; }
  AccountLimitStore& limits() override { return *this; }
  TokenStore& tokens() override { return *this; }
  std::string Describe() const override { return "probe"; }
  std::optional<UnixMillis> OwnTime() const override { return inner_.OwnTime(); }

  bool hold = false;                   ///< results are held until ReleaseHeldResults
  std::optional<Error> fail;           ///< returned without a call of inner()
  std::optional<Error> lose;           ///< calls inner(), but returns this error
  std::optional<std::size_t> only{};   ///< `fail` and `lose` apply to this call only, from 0
  const Clock* clock = nullptr;        ///< required by recover_at
  std::optional<Error> fail_releases;  ///< as `fail`, for ReleaseUnbound
  std::optional<Error> fail_renewals;  ///< as `fail`, for Renew
  std::optional<Error> lose_renewals;  ///< as `lose`, for Renew
  std::optional<Instant> recover_at;   ///< `fail` and `lose` end at this time
  bool forget_expiry = false;          ///< refusals contain no expiry

  std::function<void()> before_renewal = [] {};

  void ReleaseHeldResults() {
    for (auto& result : std::exchange(held_, {})) result();
  }
  void ReleaseFirstHeldResult() {
    auto result = std::move(held_.front());
    held_.erase(held_.begin());
    result();
  }
  std::size_t held() const { return held_.size(); }

  // The recorded calls.
  struct Claimed {
    SlotClaim claim;
    UnixMillis now;
    Deadline deadline = Deadline::Never();
  };
  std::vector<Claimed> claims;
  std::vector<SlotRef> releases;
  std::vector<milliseconds> bind_ttls;
  std::vector<AccountKey> limit_reads;
  std::size_t takes = 0;
  std::size_t calls = 0;  ///< all calls

  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override {
    claims.push_back({claim, now, deadline});
    Call<ClaimResult>(std::move(done), [&, this](Done<ClaimResult> next) {
      inner_.slots().Claim(
          claim, now, deadline,
          [forget = forget_expiry, next = std::move(next)](Result<ClaimResult> result) mutable {
            if (result && forget) result->next_expiry.reset();
            next(std::move(result));
          });
    });
  }
  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    bind_ttls.push_back(ttl);
    Call<HeldSlot>(std::move(done), [&](Done<HeldSlot> next) {
      inner_.slots().Bind(slot, resource_id, ttl, now, deadline, std::move(next));
    });
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    before_renewal();
    if (fail_renewals) return done(Fail(*fail_renewals));
    if (lose_renewals) {
      done = [error = *lose_renewals, done = std::move(done)](const auto&) mutable {
        done(Fail(error));
      };
    }
    Call<HeldSlot>(std::move(done), [&](Done<HeldSlot> next) {
      inner_.slots().Renew(slot, ttl, now, deadline, std::move(next));
    });
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    releases.push_back(slot);
    Call<bool>(std::move(done), [&](Done<bool> next) {
      inner_.slots().Release(slot, now, deadline, std::move(next));
    });
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    releases.push_back(slot);
    if (fail_releases) return done(Fail(*fail_releases));
    Call<bool>(std::move(done), [&](Done<bool> next) {
      inner_.slots().ReleaseUnbound(slot, now, deadline, std::move(next));
    });
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    inner_.slots().ReleaseResource(ended, now, deadline, std::move(done));
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    inner_.slots().List(key, page, now, deadline, std::move(done));
  }

  void Get(const AccountKey& key, Deadline deadline,
           Done<std::optional<AccountLimitRow>> done) override {
    limit_reads.push_back(key);
    Call<std::optional<AccountLimitRow>>(
        std::move(done), [&](auto next) { inner_.limits().Get(key, deadline, std::move(next)); });
  }
  void KeysOfService(const std::string& service, Deadline deadline,
                     Done<std::vector<AccountKey>> done) override {
    inner_.limits().KeysOfService(service, deadline, std::move(done));
  }
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override {
    inner_.limits().Change(change, deadline, std::move(done));
  }

  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenResult> done) override {
    ++takes;
    Call<TokenResult>(std::move(done), [&](Done<TokenResult> next) {
      inner_.tokens().Take(key, limit, count, now, deadline, std::move(next));
    });
  }

 private:
  template <class T, class Run>
  void Call(Done<T> done, Run run) {
    const bool has_recovered = recover_at && clock->Now() >= *recover_at;
    const bool spared = has_recovered || (only && *only != calls);
    ++calls;
    if (hold) {
      done = [this, done = std::move(done)](Result<T> result) mutable {
        held_.push_back([result = std::move(result), done = std::move(done)]() mutable {
          done(std::move(result));
        });
      };
    }
    if (fail && !spared) return done(Fail(*fail));
    if (lose && !spared) {
      done = [error = *lose, done = std::move(done)](Result<T>) mutable { done(Fail(error)); };
    }
    run(std::move(done));
  }

  const std::unique_ptr<ReservationBackend> memory_ = MakeMemoryReservations();
  ReservationBackend& inner_ = *memory_;
  std::vector<std::move_only_function<void()>> held_;
};

}  // namespace weir
