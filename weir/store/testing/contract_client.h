// A backend under test with synchronous calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/backend.h"
#include "weir/store/bucket/bucket_credit.h"
#include "weir/store/testing/contract_caller.h"

namespace weir {

/// One backend under test, and the means to complete its calls.
class BackendHarness {
 public:
  virtual ~BackendHarness() = default;
  virtual Backend& backend() = 0;
  /// Called repeatedly while a result is pending: advances simulated time, or yields to threads of
  /// the backend. Returns false if nothing more can happen without another call.
  virtual bool Pump() { return false; }
  /// Returns another namespace of the same store, as OpenBackend opens it; null if that is not
  /// possible. It is closed before this one.
  virtual std::unique_ptr<Backend> OpenNamespace(const std::string&) { return nullptr; }
  /// Returns the backend's wall time: audit events that are much older have expired.
  virtual UnixMillis now() const { return {1'767'225'600'013}; }
  /// Returns the number of random cases for each property.
  virtual int cases() const { return 100; }
};

/// For a backend whose calls complete before they return.
class PlainHarness final : public BackendHarness {
 public:
  explicit PlainHarness(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  Backend& backend() override { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

/// Every method as a synchronous call. The harness must outlive it.
class ContractClient : public ContractCaller {
 public:
  using Records = std::vector<std::optional<BucketRecord>>;

  explicit ContractClient(BackendHarness& harness)
      : ContractCaller([&harness] { return harness.Pump(); }), harness_(harness) {}

  Result<Decision> Acquire(std::vector<Charge> charges, UnixMillis now);
  Status Adjust(std::vector<Charge> charges, const AdjustTerms& terms, UnixMillis now);
  /// Adjusts with an id that was never used.
  Status Adjust(std::vector<Charge> charges, UnixMillis now);
  AdjustId NewAdjustId() { return {.high = 0x77656972, .low = ++last_id_}; }
  /// Uses a seed that was never used, and the harness's time.
  Result<std::vector<CreditedLimit>> Credit(BucketCredit credit);
  Result<Records> Read(std::vector<BucketKey> keys);
  Result<Page<BucketRecord>> List(BucketFilter filter, PageRequest page);

  Result<std::vector<std::optional<LevelLimits>>> GetLimits(std::vector<Level> levels);
  Result<Page<LevelRecord>> ListLimits(const LevelFilter& filter, PageRequest page);
  Result<std::vector<std::optional<EntityRecord>>> GetEntities(std::vector<std::string> ids);
  Result<Page<EntityRecord>> ListEntities(std::optional<std::string> parent, PageRequest page);
  Status Apply(std::vector<ConfigChange> changes);

  Status Append(AuditEvent event);
  Result<Page<AuditEvent>> ListEvents(std::string subject, PageRequest page);
  Result<std::int64_t> GetRetention();
  /// Stores an event with an id that was never used.
  Status SetRetention(std::int64_t days);
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

 private:
  BackendHarness& harness_;
  std::uint64_t last_id_ = 0;
};

}  // namespace weir
