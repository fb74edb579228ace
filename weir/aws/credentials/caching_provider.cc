#include "weir/aws/credentials/caching_provider.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <utility>
#include <vector>

#include "weir/aws/credentials/credentials_cache.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

/// The time limit of one fetch from the source.
constexpr nanoseconds kFetchTime = std::chrono::seconds(60);

milliseconds SinceBoot(const Clock& clock) {
  return std::chrono::floor<milliseconds>(clock.BootNow());
}

/// The state that the provider shares with its callbacks. The callbacks hold weak references, so
/// that a callback that runs after the provider is destroyed does nothing.
class CachedState : public std::enable_shared_from_this<CachedState> {
 public:
  CachedState(CredentialsProvider& source, Scheduler& scheduler, std::uint64_t seed, Log& log)
      : source_(source), scheduler_(scheduler), log_(log), cache_(seed) {}

  void Get(Deadline deadline, Done<Credentials> done) WEIR_EXCLUDES(mutex_);
  void Rejected(const Credentials& refused) WEIR_EXCLUDES(mutex_);
  void SetServiceTime(UnixMillis now) WEIR_EXCLUDES(mutex_);
  void FetchIfDue() WEIR_EXCLUDES(mutex_);
  /// Stops all fetches. When it returns, no thread is in a call of the source, and none will be.
  void Close() WEIR_EXCLUDES(mutex_);
  void CancelAll() WEIR_EXCLUDES(mutex_);

 private:
  struct Waiter {
    Done<Credentials> done;
    TimerId timer{};  ///< 0: it has no deadline
  };
  using Waiters = std::map<std::uint64_t, Waiter>;

  CredentialsCache::Time Now() const WEIR_REQUIRES(mutex_);
  /// Returns the result of a Get that need not wait for a fetch.
  std::optional<Result<Credentials>> ResultWithoutFetch(Deadline deadline) WEIR_REQUIRES(mutex_);
  void AddWaiter(Deadline deadline, Done<Credentials> done) WEIR_REQUIRES(mutex_);
  void TimeOut(std::uint64_t id) WEIR_EXCLUDES(mutex_);
  /// Starts a fetch, unless the provider is closed.
  void StartFetch() WEIR_EXCLUDES(mutex_);
  /// Stores the result of a fetch and completes all pending calls.
  void OnFetched(Result<Credentials> result) WEIR_EXCLUDES(mutex_);
  /// Writes the log event of a fetch.
  void LogFetch(const Result<Credentials>& response, const std::optional<Error>& failure);
  /// Sets the timer to the time of the next refresh.
  void SetTimer() WEIR_REQUIRES(mutex_);
  void CompleteAll(Waiters waiters, const Result<Credentials>& response) WEIR_EXCLUDES(mutex_);

  // Constant after construction.
  CredentialsProvider& source_;
  Scheduler& scheduler_;
  Log& log_;

  Mutex mutex_;
  CredentialsCache cache_ WEIR_GUARDED_BY(mutex_);
  /// The service's clock minus the time since boot. (The wall clock may be set at any time.)
  std::optional<milliseconds> service_offset_ WEIR_GUARDED_BY(mutex_);
  Waiters waiters_ WEIR_GUARDED_BY(mutex_);
  std::uint64_t next_id_ WEIR_GUARDED_BY(mutex_) = 1;
  TimerId timer_ WEIR_GUARDED_BY(mutex_){};
  std::condition_variable_any source_returned_;
  int calls_of_source_ WEIR_GUARDED_BY(mutex_) = 0;
  bool closed_ WEIR_GUARDED_BY(mutex_) = false;
};

CredentialsCache::Time CachedState::Now() const {
  const Clock& clock = scheduler_.clock();
  CredentialsCache::Time at{clock.Now(), clock.WallNow()};
  if (service_offset_) at.service = UnixMillis{(SinceBoot(clock) + *service_offset_).count()};
  return at;
}

void CachedState::SetServiceTime(UnixMillis now) {
  const MutexLock lock(mutex_);
  service_offset_ = milliseconds(now.value) - SinceBoot(scheduler_.clock());
  SetTimer();
}

void CachedState::Get(Deadline deadline, Done<Credentials> done) {
  std::optional<Result<Credentials>> response;
  bool must_fetch = false;
  {
    const MutexLock lock(mutex_);
    // Callbacks and the source are called outside the lock.
    response = ResultWithoutFetch(deadline);
    if (!response) AddWaiter(deadline, std::exchange(done, nullptr));
    must_fetch = cache_.BeginFetch(Now());
  }
  if (response) done(*std::move(response));
  if (must_fetch) StartFetch();
}

std::optional<Result<Credentials>> CachedState::ResultWithoutFetch(Deadline deadline) {
  const CredentialsCache::Time at = Now();
  if (const Credentials* good = cache_.Valid(at)) return *good;
  if (auto fetch_error = cache_.FetchError(at)) return Fail(*std::move(fetch_error));
  if (!deadline.ExpiredAt(at.now)) return std::nullopt;
  return Fail(Code::kDeadlineExceeded, "no AWS credentials by the deadline");
}

void CachedState::AddWaiter(Deadline deadline, Done<Credentials> done) {
  const std::uint64_t id = next_id_++;
  Waiter& waiter = waiters_[id];
  waiter.done = std::move(done);
  if (deadline.is_never()) return;
  waiter.timer = scheduler_.At(deadline.at(), [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->TimeOut(id);
  });
}

void CachedState::TimeOut(std::uint64_t id) {
  Waiters late;
  {
    const MutexLock lock(mutex_);
    if (auto node = waiters_.extract(id)) late.insert(std::move(node));
  }
  CompleteAll(std::move(late), Fail(Code::kDeadlineExceeded, "no AWS credentials by the deadline"));
}

void CachedState::Rejected(const Credentials& refused) {
  {
    const MutexLock lock(mutex_);
    if (!cache_.Rejected(refused, Now())) return;
  }
  log_.Write(LogLevel::kWarning, "credentials.rejected", {});
}

void CachedState::FetchIfDue() {
  bool must_fetch = false;
  {
    const MutexLock lock(mutex_);
    timer_ = TimerId{};
    must_fetch = cache_.BeginFetch(Now());
    if (!must_fetch) SetTimer();
  }
  if (must_fetch) StartFetch();
}

void CachedState::StartFetch() {
  {
    const MutexLock lock(mutex_);
    if (closed_) return;
    // Close waits until this call of the source has returned.
    ++calls_of_source_;
  }
  source_.Get(Deadline::After(scheduler_.clock(), kFetchTime),
              [weak = weak_from_this()](Result<Credentials> result) {
                if (const auto self = weak.lock()) self->OnFetched(std::move(result));
              });
  const MutexLock lock(mutex_);
  if (--calls_of_source_ == 0) source_returned_.notify_all();
}

void CachedState::LogFetch(const Result<Credentials>& response,
                           const std::optional<Error>& failure) {
  if (failure) {
    const std::int64_t wait = failure->retry_after.value_or(milliseconds(0)).count();
    const std::array<LogField, 3> fields = {LogField{"message", std::string_view(failure->message)},
                                            {"retry_after_ms", wait},
                                            {"usable", response.has_value()}};
    return log_.Write(LogLevel::kWarning, "credentials.failed", fields);
  }
  if (!response) return;
  std::vector<LogField> fields;
  if (response->expires) {
    const milliseconds left = *response->expires - scheduler_.clock().WallNow();
    fields.push_back({"expires_in_s", std::int64_t{left.count() / 1000}});
  }
  log_.Write(LogLevel::kInfo, "credentials.refreshed", fields);
}

void CachedState::OnFetched(Result<Credentials> result) {
  Waiters waiters;
  Result<Credentials> response;
  std::optional<Error> failure;
  {
    const MutexLock lock(mutex_);
    const CredentialsCache::Time at = Now();
    cache_.Fetched(std::move(result), at);
    failure = cache_.Failure(at);
    const Credentials* const good = cache_.Valid(at);
    if (good != nullptr) {
      response = *good;
    } else {
      // A successful fetch has stored valid credentials, so this one has failed.
      response = Fail(failure.value());
    }
    waiters.swap(waiters_);
    SetTimer();
  }
  LogFetch(response, failure);
  CompleteAll(std::move(waiters), response);
}

void CachedState::SetTimer() {
  if (timer_ != TimerId{}) scheduler_.Cancel(timer_);
  timer_ = TimerId{};
  if (closed_) return;
  if (const auto when = cache_.WakeAt(Now())) {
    timer_ = scheduler_.At(*when, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->FetchIfDue();
    });
  }
}

void CachedState::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  if (timer_ != TimerId{}) scheduler_.Cancel(timer_);
  while (calls_of_source_ > 0) source_returned_.wait(mutex_);
}

void CachedState::CancelAll() {
  Waiters waiters;
  {
    const MutexLock lock(mutex_);
    waiters.swap(waiters_);
  }
  CompleteAll(std::move(waiters), Fail(Code::kCancelled, "the AWS credentials are being closed"));
}

void CachedState::CompleteAll(Waiters waiters, const Result<Credentials>& response) {
  for (auto& [id, waiter] : waiters) {
    if (waiter.timer != TimerId{}) scheduler_.Cancel(waiter.timer);
    waiter.done(response);
  }
}

class CachedCredentials final : public CredentialsProvider {
 public:
  CachedCredentials(std::unique_ptr<CredentialsProvider> source, Scheduler& scheduler,
                    std::uint64_t seed, Log& log)
      : source_(std::move(source)),
        state_(std::make_shared<CachedState>(*source_, scheduler, seed, log)) {}
  ~CachedCredentials() override {
    // The order matters: no further fetch begins; the source is destroyed, which may complete the
    // last fetch; then the calls that are still pending complete.
    state_->Close();
    source_.reset();
    state_->CancelAll();
  }

  void Get(Deadline deadline, Done<Credentials> done) override {
    state_->Get(deadline, std::move(done));
  }
  void Rejected(const Credentials& refused) override { state_->Rejected(refused); }
  void SetServiceTime(UnixMillis now) override { state_->SetServiceTime(now); }

 private:
  std::unique_ptr<CredentialsProvider> source_;
  const std::shared_ptr<CachedState> state_;
};

}  // namespace

std::unique_ptr<CredentialsProvider> MakeCachedCredentials(
    std::unique_ptr<CredentialsProvider> source, Scheduler& scheduler, std::uint64_t seed,
    Log& log) {
  return std::make_unique<CachedCredentials>(std::move(source), scheduler, seed, log);
}

}  // namespace weir
