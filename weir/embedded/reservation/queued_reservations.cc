#include "weir/embedded/reservation/queued_reservations.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/embedded/commit/blocking_calls.h"

namespace weir {
namespace {

// Runs `verb` (Done<T> to nothing), which completes before it returns, and returns its result.
template <class T, class Verb>
Result<T> AnswerOf(const Verb& verb) {
  std::optional<Result<T>> answer;
  verb([&answer](Result<T> result) { answer.emplace(std::move(result)); });
  return *std::move(answer);
}

class QueuedSlots final : public ReservationStore {
 public:
  QueuedSlots(ReservationStore& inner, BlockingCalls& calls) : inner_(inner), calls_(calls) {}

  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimAnswer> done) override {
    Run<ClaimAnswer>(deadline, std::move(done), [this, claim, now, deadline](auto answer) {
      inner_.Claim(claim, now, deadline, std::move(answer));
    });
  }
  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    Run<HeldSlot>(deadline, std::move(done),
                  [this, slot, resource_id, ttl, now, deadline](auto answer) {
                    inner_.Bind(slot, resource_id, ttl, now, deadline, std::move(answer));
                  });
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    Run<HeldSlot>(deadline, std::move(done), [this, slot, ttl, now, deadline](auto answer) {
      inner_.Renew(slot, ttl, now, deadline, std::move(answer));
    });
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    Run<bool>(deadline, std::move(done), [this, slot, now, deadline](auto answer) {
      inner_.Release(slot, now, deadline, std::move(answer));
    });
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    Run<bool>(deadline, std::move(done), [this, slot, now, deadline](auto answer) {
      inner_.ReleaseUnbound(slot, now, deadline, std::move(answer));
    });
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    Run<std::size_t>(deadline, std::move(done), [this, ended, now, deadline](auto answer) {
      inner_.ReleaseResource(ended, now, deadline, std::move(answer));
    });
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    Run<Page<HeldSlot>>(deadline, std::move(done), [this, key, page, now, deadline](auto answer) {
      inner_.List(key, page, now, deadline, std::move(answer));
    });
  }

 private:
  template <class T, class Verb>
  void Run(Deadline deadline, Done<T> done, Verb verb) {
    calls_.Run<T>(
        deadline, [verb = std::move(verb)] { return AnswerOf<T>(verb); }, std::move(done));
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
    const auto get = [this, key, deadline](Done<Found> answer) {
      inner_.Get(key, deadline, std::move(answer));
    };
    calls_.Run<Found>(deadline, [get] { return AnswerOf<Found>(get); }, std::move(done));
  }
  void KeysOfService(const std::string& service, Deadline deadline,
                     Done<std::vector<AccountKey>> done) override {
    using Found = std::vector<AccountKey>;
    const auto list = [this, service, deadline](Done<Found> answer) {
      inner_.KeysOfService(service, deadline, std::move(answer));
    };
    calls_.Run<Found>(deadline, [list] { return AnswerOf<Found>(list); }, std::move(done));
  }
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override {
    const auto make = [this, change, deadline](Done<void> answer) {
      inner_.Change(change, deadline, std::move(answer));
    };
    calls_.Run<void>(deadline, [make] { return AnswerOf<void>(make); }, std::move(done));
  }

 private:
  AccountLimitStore& inner_;
  BlockingCalls& calls_;
};

class QueuedTokens final : public TokenStore {
 public:
  QueuedTokens(TokenStore& inner, BlockingCalls& calls) : inner_(inner), calls_(calls) {}

  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenAnswer> done) override {
    const auto take = [this, key, limit, count, now, deadline](Done<TokenAnswer> answer) {
      inner_.Take(key, limit, count, now, deadline, std::move(answer));
    };
    calls_.Run<TokenAnswer>(
        deadline, [take] { return AnswerOf<TokenAnswer>(take); }, std::move(done));
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
