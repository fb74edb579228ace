#include "weir/embedded/reservation/queued_reservations.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/embedded/commit/blocking_calls.h"

namespace weir {
namespace {

// Calls `verb` with a Done<T>, which `verb` calls before it returns, and returns the result.
template <class T, class Verb>
Result<T> ResultOf(const Verb& verb) {
  std::optional<Result<T>> result;
  verb([&result](Result<T> outcome) { result.emplace(std::move(outcome)); });
  return *std::move(result);
}

class QueuedSlots final : public ReservationStore {
 public:
  QueuedSlots(ReservationStore& inner, BlockingCalls& calls) : inner_(inner), calls_(calls) {}

  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override {
    Run<ClaimResult>(deadline, std::move(done), [this, claim, now, deadline](auto on_done) {
      inner_.Claim(claim, now, deadline, std::move(on_done));
    });
  }
  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    Run<HeldSlot>(deadline, std::move(done),
                  [this, slot, resource_id, ttl, now, deadline](auto on_done) {
                    inner_.Bind(slot, resource_id, ttl, now, deadline, std::move(on_done));
                  });
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    Run<HeldSlot>(deadline, std::move(done), [this, slot, ttl, now, deadline](auto on_done) {
      inner_.Renew(slot, ttl, now, deadline, std::move(on_done));
    });
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    Run<bool>(deadline, std::move(done), [this, slot, now, deadline](auto on_done) {
      inner_.Release(slot, now, deadline, std::move(on_done));
    });
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    Run<bool>(deadline, std::move(done), [this, slot, now, deadline](auto on_done) {
      inner_.ReleaseUnbound(slot, now, deadline, std::move(on_done));
    });
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    Run<std::size_t>(deadline, std::move(done), [this, ended, now, deadline](auto on_done) {
      inner_.ReleaseResource(ended, now, deadline, std::move(on_done));
    });
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    Run<Page<HeldSlot>>(deadline, std::move(done), [this, key, page, now, deadline](auto on_done) {
      inner_.List(key, page, now, deadline, std::move(on_done));
    });
  }

 private:
  template <class T, class Verb>
  void Run(Deadline deadline, Done<T> done, Verb verb) {
    calls_.Run<T>(
        deadline, [verb = std::move(verb)] { return ResultOf<T>(verb); }, std::move(done));
  }

  ReservationStore& inner_;
  BlockingCalls& calls_;
};

class QueuedLimits final : public AccountLimitStore {
 public:
  QueuedLimits(AccountLimitStore& inner, BlockingCalls& calls) : inner_(inner), calls_(calls) {}

  void Get(const AccountKey& key, Deadline deadline,
           Done<std::optional<AccountLimitRow>> done) override {
    using Found = std::optional<AccountLimitRow>;
    const auto get = [this, key, deadline](Done<Found> on_done) {
      inner_.Get(key, deadline, std::move(on_done));
    };
    calls_.Run<Found>(deadline, [get] { return ResultOf<Found>(get); }, std::move(done));
  }
  void KeysOfService(const std::string& service, Deadline deadline,
                     Done<std::vector<AccountKey>> done) override {
    using Found = std::vector<AccountKey>;
    const auto list = [this, service, deadline](Done<Found> on_done) {
      inner_.KeysOfService(service, deadline, std::move(on_done));
    };
    calls_.Run<Found>(deadline, [list] { return ResultOf<Found>(list); }, std::move(done));
  }
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override {
    const auto make = [this, change, deadline](Done<void> on_done) {
      inner_.Change(change, deadline, std::move(on_done));
    };
    calls_.Run<void>(deadline, [make] { return ResultOf<void>(make); }, std::move(done));
  }

 private:
  AccountLimitStore& inner_;
  BlockingCalls& calls_;
};

class QueuedTokens final : public TokenStore {
 public:
  QueuedTokens(TokenStore& inner, BlockingCalls& calls) : inner_(inner), calls_(calls) {}

  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenResult> done) override {
    const auto take = [this, key, limit, count, now, deadline](Done<TokenResult> on_done) {
      inner_.Take(key, limit, count, now, deadline, std::move(on_done));
    };
    calls_.Run<TokenResult>(
        deadline, [take] { return ResultOf<TokenResult>(take); }, std::move(done));
  }

 private:
  TokenStore& inner_;
  BlockingCalls& calls_;
};

class QueuedReservations final : public ReservationBackend {
 public:
  QueuedReservations(std::unique_ptr<ReservationBackend> inner, Scheduler& worker,
                     Scheduler& timers, const QueuedReservationsOptions& options)
      : inner_(std::move(inner)), calls_(worker, timers, inner_->Describe(), options.max_waiting) {}

  ReservationStore& slots() override { return slots_; }
  AccountLimitStore& limits() override { return limits_; }
  TokenStore& tokens() override { return tokens_; }
  std::string Describe() const override { return inner_->Describe(); }
  std::optional<UnixMillis> OwnTime() const override { return inner_->OwnTime(); }

 private:
  const std::unique_ptr<ReservationBackend> inner_;
  BlockingCalls calls_;
  QueuedSlots slots_{inner_->slots(), calls_};
  QueuedLimits limits_{inner_->limits(), calls_};
  QueuedTokens tokens_{inner_->tokens(), calls_};
};

}  // namespace

std::unique_ptr<ReservationBackend> QueueReservations(std::unique_ptr<ReservationBackend> inner,
                                                      Scheduler& worker, Scheduler& timers,
                                                      const QueuedReservationsOptions& options) {
  return std::make_unique<QueuedReservations>(std::move(inner), worker, timers, options);
}

}  // namespace weir
