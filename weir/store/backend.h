// A place where shared state lives: memory, a file, a table.
#pragma once

#include <string>

#include "weir/store/audit_log.h"
#include "weir/store/bucket_store.h"
#include "weir/store/config_store.h"
#include "weir/store/namespace_store.h"
#include "weir/store/usage_store.h"

namespace weir {

class Registry;
class ReservationBackend;

/// Owns one of each store. Thread-safe. Outlives every call that is under way on its stores:
/// destroy it only after each `done` ran.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BucketStore& buckets() = 0;
  virtual ConfigStore& config() = 0;
  /// Who changed what: each change of config() that says something of itself (config_audit.h)
  /// appends to it, in one step with the change where the store can.
  ///
  /// These three are kUnimplemented in what wraps a backend for its buckets alone; every backend
  /// that OpenBackend opens has them.
  virtual AuditLog& audit();
  virtual UsageStore& usage();
  /// All namespaces of the place, whichever of them this is.
  virtual NamespaceStore& namespaces();
  /// Slots, accounts' limits and accounts' tokens of the place, opened at the first call that
  /// succeeds; they live as long as the backend, and Close closes them. kUnimplemented, with what
  /// would be right, if the place keeps none. May block.
  [[nodiscard]] virtual Result<ReservationBackend*> reservations();
  /// Makes everything answered so far durable, then stops; later calls answer kUnavailable. What
  /// could not be kept is the error. Called by the destructor where nobody called it. Calls on
  /// reservations() have their answers when it returns: not within one of those.
  [[nodiscard]] virtual Status Close() = 0;
  /// Adds what the backend counts (docs/design/metrics.md): nothing, if it does no I/O. It must
  /// outlive the registry. kAlreadyExists: the registry has the metrics of such a backend already;
  /// some may have been added.
  [[nodiscard]] virtual Status RegisterMetrics(Registry& registry) const;
  /// As people name it, for example "sqlite:/var/lib/weir.db".
  virtual std::string Describe() const = 0;
};

}  // namespace weir
