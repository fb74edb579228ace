// The backend on DynamoDB, over a client that is already connected.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "weir/aws/client_metrics.h"
#include "weir/aws/json_client.h"
#include "weir/store/backend.h"
#include "weir/zae_table/bucket/bucket_store.h"
#include "weir/zae_table/config/config_store.h"
#include "weir/zae_table/namespace/namespaces.h"
#include "weir/zae_table/records/audit.h"
#include "weir/zae_table/records/usage.h"

namespace weir::dynamo {

/// Passes calls on to `client` until Close. After that every call fails with kUnavailable and is
/// not passed on. `client` must outlive this object. Thread-safe.
class ClosingClient final : public JsonClient {
 public:
  explicit ClosingClient(JsonClient& client) : client_(client) {}
  void Call(JsonCall call, Deadline deadline, JsonDone done) override;
  std::optional<UnixMillis> ServerNow() const override { return client_.ServerNow(); }
  std::optional<UnixMillis> ConfirmedNow() const override { return client_.ConfirmedNow(); }
  JsonClientStats stats() const override { return client_.stats(); }
  HistogramSnapshot RequestTime() const override { return client_.RequestTime(); }
  void Close() { closed_ = true; }
  bool is_closed() const { return closed_; }

 private:
  JsonClient& client_;
  std::atomic<bool> closed_ = false;
};

struct BackendParts {
  JsonClient& client;
  Scheduler& scheduler;
  std::string table;
  std::string namespace_id;
  ConfigSources sources;
  milliseconds refusal_age{1000};  ///< as in BucketStoreOptions
  milliseconds repair_rest{1000};  ///< as in BucketStoreOptions
  Log* log = nullptr;              ///< as in BucketStoreOptions
};

/// One namespace of one table. The objects that the parts refer to must outlive the backend.
class DynamoBackend final : public Backend {
 public:
  /// The seeds are drawn from `parts.sources.random`.
  explicit DynamoBackend(BackendParts parts);
  /// Calls Close, unless it was called before. Then waits, at most 5 s, for requests in flight;
  /// their callers may have got their results before. Must not run in a task of the scheduler.
  ~DynamoBackend() override;

  BucketStore& buckets() override { return buckets_; }
  ConfigStore& config() override { return config_; }
  AuditLog& audit() override { return audit_; }
  UsageStore& usage() override { return usage_; }
  NamespaceStore& namespaces() override { return namespaces_; }
  /// All changes whose results were reported are in the table already, except for tokens that are
  /// given back because the deadline of their caller has passed. Waits until these tokens are given
  /// back, pending calls have completed and callbacks have returned; returns kDeadlineExceeded
  /// after ten seconds. Must not be called in a task of the scheduler, nor in a callback.
  Status Close() override;
  Status RegisterMetrics(Registry& registry) const override;
  std::string Describe() const override;

 private:
  Scheduler& scheduler_;
  ClosingClient client_;
  Table table_;
  const Keys keys_;
  AuditTrail audit_;
  UsageTable usage_;
  Namespaces namespaces_;
  DynamoBucketStore buckets_;
  DynamoConfigStore config_;
};

}  // namespace weir::dynamo
