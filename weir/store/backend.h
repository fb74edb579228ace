// A place where shared state lives: memory, a file, a table.
#pragma once

#include <string>

#include "weir/store/bucket_store.h"
#include "weir/store/config_store.h"

namespace weir {

/// Owns one of each store. Thread-safe. Outlives every call that is under way on its stores:
/// destroy it only after each `done` ran.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BucketStore& buckets() = 0;
  virtual ConfigStore& config() = 0;
  /// Makes everything answered so far durable, then stops; later calls answer kUnavailable. What
  /// could not be kept is the error. Called by the destructor where nobody called it.
  [[nodiscard]] virtual Status Close() = 0;
  /// As people name it, for example "sqlite:/var/lib/weir.db".
  virtual std::string Describe() const = 0;
};

}  // namespace weir
