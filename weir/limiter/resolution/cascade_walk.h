// Walks the chain of an entity and of the parents that its requests also charge: a state machine
// without I/O. resolver.cc makes the reads.
//
//   member(), levels() --> Take --+--> kParentIsNext: the same for the parent
//                                 +--> kComplete
//                                 +--> an error: a cycle, or too many parents
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/limiter/resolution/cascade_limits.h"

namespace weir {

/// Not thread-safe.
class CascadeWalk {
 public:
  CascadeWalk(std::string_view entity, std::string_view resource);

  /// Returns the member of the chain whose record is needed next. The view is valid for the
  /// lifetime of the walk.
  std::string_view member() const { return chain_.back(); }
  /// Returns the levels whose limits are needed next: those of the member; with the first member,
  /// also those of the resource and of the system.
  std::vector<Level> levels() const;

  enum class Next { kParentIsNext, kComplete };
  /// Takes the record of member() (nullopt if it does not exist) and the limits at levels(). Fails
  /// with kFailedPrecondition if the parent is in the chain already, or would make the chain longer
  /// than kMaxCascade.
  [[nodiscard]] Result<Next> Take(const std::optional<EntityRecord>& record, LimitsByLevel limits);

  /// Returns the entity and the ancestors that were reached, in order. The strings keep their
  /// addresses.
  const std::vector<std::string>& chain() const { return chain_; }
  const std::string& resource() const { return resource_; }
  /// Returns the limits at LevelsOf(chain(), resource()), for the members that were taken.
  const LimitsByLevel& found() const { return found_; }

 private:
  std::vector<std::string> chain_;
  std::string resource_;
  LimitsByLevel found_;
};

}  // namespace weir
