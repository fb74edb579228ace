#include "weir/store/reservation/closing_reservations.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace weir {
namespace {

/// The number of calls in flight, and whether further calls may begin. Thread-safe.
class CallCount {
 public:
  /// One call in flight. The call ends when the Pass and its copies are destroyed, also if its
  /// callback is dropped without a result.
  class Pass {
   public:
    explicit Pass(CallCount& count) : count_(&count) {}
    Pass(const Pass& other) : count_(other.count_) { count_->Add(); }
    Pass(Pass&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    Pass& operator=(Pass) = delete;
    ~Pass() {
      if (count_ != nullptr) count_->End();
    }

   private:
    CallCount* count_;
  };

  enum class Kind { kAny, kGiveBack };

  // A call in flight may complete with a slot that its caller no longer needs, so releases are
  // allowed after Close while any call is in flight.
  std::optional<Pass> Begin(Kind kind) {
    const std::lock_guard lock(mutex_);
    const bool may_begin = !closed_ || (kind == Kind::kGiveBack && in_flight_ > 0);
    if (!may_begin) return std::nullopt;
    ++in_flight_;
    return Pass(*this);
  }

  // Refuses further calls, and blocks until none is in flight.
  void Close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    ended_.wait(lock, [this] { return in_flight_ == 0; });
  }

 private:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++in_flight_;
  }
  // The lock is held until the end: the thread that waits in Close may destroy this object as soon
  // as it gets the lock.
  void End() {
    const std::lock_guard lock(mutex_);
    if (--in_flight_ == 0) ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t in_flight_ = 0;
  bool closed_ = false;
};

class ClosingReservations final : public ReservationBackend,
                                  private ReservationStore,
                                  private AccountLimitStore,
                                  private TokenStore {
 public:
  explicit ClosingReservations(std::unique_ptr<ReservationBackend> inner)
      : inner_(std::move(inner)) {}
  ~ClosingReservations() override { calls_.Close(); }

  ReservationStore& slots() override { return *this; }
  AccountLimitStore& limits() override { return *this; }
  TokenStore& tokens() override { return *this; }
  std::optional<UnixMillis> OwnTime() const override { return inner_->OwnTime(); }
  std::string Describe() const override { return inner_->Describe(); }
  void Close() override { calls_.Close(); }

 private:
  void Claim(const SlotClaim& claim, UnixMillis now, Deadline deadline,
             Done<ClaimResult> done) override {
    Call(std::move(done),
         [&](auto finish) { inner_->slots().Claim(claim, now, deadline, std::move(finish)); });
  }
  void Bind(const SlotRef& slot, const std::string& resource_id, milliseconds ttl, UnixMillis now,
            Deadline deadline, Done<HeldSlot> done) override {
    Call(std::move(done), [&](auto finish) {
      inner_->slots().Bind(slot, resource_id, ttl, now, deadline, std::move(finish));
    });
  }
  void Renew(const SlotRef& slot, milliseconds ttl, UnixMillis now, Deadline deadline,
             Done<HeldSlot> done) override {
    Call(std::move(done),
         [&](auto finish) { inner_->slots().Renew(slot, ttl, now, deadline, std::move(finish)); });
  }
  void Release(const SlotRef& slot, UnixMillis now, Deadline deadline, Done<bool> done) override {
    GiveBack(std::move(done),
             [&](auto finish) { inner_->slots().Release(slot, now, deadline, std::move(finish)); });
  }
  void ReleaseUnbound(const SlotRef& slot, UnixMillis now, Deadline deadline,
                      Done<bool> done) override {
    GiveBack(std::move(done), [&](auto finish) {
      inner_->slots().ReleaseUnbound(slot, now, deadline, std::move(finish));
    });
  }
  void ReleaseResource(const EndedResource& ended, UnixMillis now, Deadline deadline,
                       Done<std::size_t> done) override {
    Call(std::move(done), [&](auto finish) {
      inner_->slots().ReleaseResource(ended, now, deadline, std::move(finish));
    });
  }
  void List(const AccountKey& key, const PageRequest& page, UnixMillis now, Deadline deadline,
            Done<Page<HeldSlot>> done) override {
    Call(std::move(done),
         [&](auto finish) { inner_->slots().List(key, page, now, deadline, std::move(finish)); });
  }

  void Get(const AccountKey& key, Deadline deadline,
           Done<std::optional<AccountLimitRow>> done) override {
    Call(std::move(done),
         [&](auto finish) { inner_->limits().Get(key, deadline, std::move(finish)); });
  }
  void KeysOfService(const std::string& service, Deadline deadline,
                     Done<std::vector<AccountKey>> done) override {
    Call(std::move(done), [&](auto finish) {
      inner_->limits().KeysOfService(service, deadline, std::move(finish));
    });
  }
  void Change(const AccountLimitChange& change, Deadline deadline, Done<void> done) override {
    Call(std::move(done),
         [&](auto finish) { inner_->limits().Change(change, deadline, std::move(finish)); });
  }

  void Take(const AccountKey& key, const AccountLimit& limit, std::int64_t count, UnixMillis now,
            Deadline deadline, Done<TokenResult> done) override {
    Call(std::move(done), [&](auto finish) {
      inner_->tokens().Take(key, limit, count, now, deadline, std::move(finish));
    });
  }

  // Makes a call on `inner_`, or fails if the backend is closed.
  template <class T, class Verb>
  void Call(Done<T> done, const Verb& verb) {
    Run(calls_.Begin(CallCount::Kind::kAny), std::move(done), verb);
  }
  template <class Verb>
  void GiveBack(Done<bool> done, const Verb& verb) {
    Run(calls_.Begin(CallCount::Kind::kGiveBack), std::move(done), verb);
  }
  // The call may complete on another thread before `verb` returns here. The caller's `pass` counts
  // the call as in flight until `verb` returns; the copy of `pass` in the callback does so until
  // `done` returns.
  template <class T, class Verb>
  void Run(const std::optional<CallCount::Pass>& pass, Done<T> done, const Verb& verb) {
    if (!pass) {
      return done(
          Fail(Code::kUnavailable, fmt::format("{}: the backend is closed", inner_->Describe())));
    }
    verb(Done<T>([pass = *pass, done = std::move(done)](Result<T> result) mutable {
      const CallCount::Pass last = std::move(pass);
      done(std::move(result));
    }));
  }

  const std::unique_ptr<ReservationBackend> inner_;
  CallCount calls_;
};

}  // namespace

std::unique_ptr<ReservationBackend> MakeClosing(std::unique_ptr<ReservationBackend> inner) {
  return std::make_unique<ClosingReservations>(std::move(inner));
}

Result<ReservationBackend*> LazyReservations::Get() {
  const MutexLock lock(mutex_);
  if (closed_) return Fail(Code::kUnavailable, "reservations: the backend is closed");
  if (opened_ == nullptr) {
    WEIR_ASSIGN_OR_RETURN(opened_, open_());
  }
  return opened_.get();
}

// Get holds the lock while it opens a backend, so a backend that is being opened is closed here
// too.
void LazyReservations::Close() {
  ReservationBackend* opened = nullptr;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    opened = opened_.get();
  }
  if (opened != nullptr) opened->Close();
}

}  // namespace weir
