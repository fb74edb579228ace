// A backend under test, called as if every answer came at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/backend.h"

namespace weir {

/// One backend under test, and what makes its answers arrive.
class BackendHarness {
 public:
  virtual ~BackendHarness() = default;
  virtual Backend& backend() = 0;
  /// Called again and again while an answer is awaited: moves simulated time, or yields to threads
  /// of the backend. False: without another call nothing will happen any more.
  virtual bool Pump() { return false; }
  /// Another namespace of the same place, as OpenBackend opens it; null where there is no such
  /// thing. It is closed before this one.
  virtual std::unique_ptr<Backend> OpenNamespace(const std::string&) { return nullptr; }
  /// What time it is there: audit events that are much older are expired.
  virtual UnixMillis now() const { return {1'767'225'600'013}; }
  /// How many random cases each property is worth here.
  virtual int cases() const { return 100; }
};

/// For a backend that answers before its calls return.
class PlainHarness final : public BackendHarness {
 public:
  explicit PlainHarness(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  Backend& backend() override { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

/// Calls, and pumps the harness until the answer is there. What a call may read only while it runs
/// is gone before the first pump. Not thread-safe. The harness must outlive it.
class ContractClient {
 public:
  using Records = std::vector<std::optional<BucketRecord>>;

  explicit ContractClient(BackendHarness& harness) : harness_(harness) {}

  Result<Decision> Acquire(std::vector<Charge> charges, UnixMillis now);
  Status Adjust(std::vector<Charge> charges, AdjustToken token, UnixMillis now);
  /// With a token that was never used.
  Status Adjust(std::vector<Charge> charges, UnixMillis now);
  AdjustToken NewToken() { return {.high = 0x77656972, .low = ++tokens_}; }
  Result<Records> Read(std::vector<BucketKey> keys);
  Result<Page<BucketRecord>> List(BucketFilter filter, PageRequest page);

  Result<std::vector<std::optional<LevelLimits>>> GetLimits(std::vector<Level> levels);
  Result<Page<LevelRecord>> ListLimits(std::optional<Level::Kind> kind, PageRequest page);
  Result<std::vector<std::optional<EntityRecord>>> GetEntities(std::vector<std::string> ids);
  Result<Page<EntityRecord>> ListEntities(std::optional<std::string> parent, PageRequest page);
  Status Apply(std::vector<ConfigChange> changes);

  Status Append(AuditEvent event);
  Result<Page<AuditEvent>> ListEvents(std::string subject, PageRequest page);
  Status AddUsage(UsageSnapshot added);
  Result<Page<UsageSnapshot>> ListUsage(UsageFilter filter, PageRequest page);

  Result<Namespace> Register(std::string name);
  Result<std::optional<Namespace>> GetNamespace(std::string name);
  Result<Page<Namespace>> ListNamespaces(PageRequest page);
  Result<Namespace> Delete(std::string name);
  Result<Namespace> Recover(std::string id);
  Result<Page<Namespace>> Orphans(PageRequest page);
  Result<std::uint64_t> Purge(std::string id);
  Result<std::string> Resolve(std::string name_or_id);

  /// A call of any shape: `start` gets the Done. kInternal if no answer came.
  template <class T, class Start>
  Result<T> Call(Start&& start) {
    auto answer = std::make_shared<Answer<T>>();
    counts_.emplace_back(answer, &answer->count);
    std::forward<Start>(start)(Done<T>([answer](Result<T> result) {
      if (answer->count++ > 0) return;
      answer->result.emplace(std::move(result));
      answer->there = true;
    }));
    if (!PumpUntil([&] { return answer->there.load(); })) {
      return Fail(Code::kInternal, "the call was never answered");
    }
    return *std::move(answer->result);
  }

  /// False if nothing more happens before `reached` holds.
  template <class Condition>
  bool PumpUntil(Condition&& reached) {
    while (!reached()) {
      if (!harness_.Pump() && !reached()) return false;
    }
    return true;
  }

  /// How many calls were answered not at all, or more than once.
  std::size_t CountBadAnswers() const;

 private:
  template <class T>
  struct Answer {
    std::atomic<int> count = 0;
    std::atomic<bool> there = false;
    std::optional<Result<T>> result;
  };

  BackendHarness& harness_;
  std::vector<std::shared_ptr<const std::atomic<int>>> counts_;
  std::uint64_t tokens_ = 0;
};

}  // namespace weir
