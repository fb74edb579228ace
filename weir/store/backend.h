// A backend stores shared state: in memory, in a file or in a table.
#pragma once

#include <string>

#include "weir/base/api.h"
#include "weir/store/bucket/bucket_store.h"
#include "weir/store/config/audit_log.h"
#include "weir/store/config/config_store.h"
#include "weir/store/config/namespace_store.h"
#include "weir/store/config/usage_store.h"

namespace weir {

class Registry;
class ReservationBackend;

/// Owns one of each store. Thread-safe. It must outlive every pending call on its stores: destroy
/// it only after each `done` has run.
class WEIR_API Backend {
 public:
  virtual ~Backend() = default;
  virtual BucketStore& buckets() = 0;
  virtual ConfigStore& config() = 0;
  /// The log of configuration changes. A change through config() that has an event (config_audit.h)
  /// appends the event, atomically with the change if the store can do that.
  ///
  /// In classes that wrap a backend for its buckets only, every call on audit(), usage() and
  /// namespaces() fails with kUnimplemented. Every backend that OpenBackend opens implements these
  /// stores.
  virtual AuditLog& audit();
  virtual UsageStore& usage();
  /// All namespaces of the store, whichever of them this backend has opened.
  virtual NamespaceStore& namespaces();
  /// Returns the store of slots, accounts' limits and accounts' tokens. It is opened by the first
  /// call that succeeds, lives as long as the backend, and is closed by Close. Fails with
  /// kUnimplemented if the backend has none, and with kFailedPrecondition if it was opened for
  /// reading only. May block.
  [[nodiscard]] virtual Result<ReservationBackend*> reservations();
  /// Makes all completed changes durable, then stops; later calls fail with kUnavailable. Returns
  /// an error if some changes could not be made durable. The destructor calls Close if it was not
  /// called before. When Close returns, all calls on reservations() have completed, so Close must
  /// not be called within the callback of such a call.
  [[nodiscard]] virtual Status Close() = 0;
  /// Adds the metrics of the backend (docs/design/metrics.md) to `registry`, if there are any. The
  /// backend must outlive the registry. Fails with kAlreadyExists if the registry has the metrics
  /// of such a backend already; some metrics may have been added then.
  [[nodiscard]] virtual Status RegisterMetrics(Registry& registry) const;
  /// Returns the name of the backend for messages, for example "sqlite:/var/lib/weir.db".
  virtual std::string Describe() const = 0;
};

}  // namespace weir
