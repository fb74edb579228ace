// A backend under test, called as if every answer came at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/store/backend.h"
#include "weir/store/bucket_credit.h"
#include "weir/store/contract_caller.h"

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

/// Every verb as a call. The harness must outlive it.
class ContractClient : public ContractCaller {
 public:
  using Records = std::vector<std::optional<BucketRecord>>;

  explicit ContractClient(BackendHarness& harness)
      : ContractCaller([&harness] { return harness.Pump(); }), harness_(harness) {}

  Result<Decision> Acquire(std::vector<Charge> charges, UnixMillis now);
  Status Adjust(std::vector<Charge> charges, AdjustId token, UnixMillis now);
  /// With a token that was never used.
  Status Adjust(std::vector<Charge> charges, UnixMillis now);
  AdjustId NewToken() { return {.high = 0x77656972, .low = ++tokens_}; }
  /// With a seed that was never used, as of the harness's time.
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
  std::uint64_t tokens_ = 0;
};

}  // namespace weir
