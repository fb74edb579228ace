// A list of changes to a configuration that is applied as a whole or not at all.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/model/audit_event.h"
#include "weir/store/config/config_table.h"

namespace weir {

/// Changes a table step by step and records the old values. Unless Commit was called, the
/// destructor restores them. Both arguments must outlive the transaction, and no other code may use
/// the table in the meantime.
class ConfigTransaction {
 public:
  ConfigTransaction(ConfigTable& table, const ConfigTable::HasBuckets& has_buckets)
      : table_(table), has_buckets_(has_buckets) {}
  ~ConfigTransaction();
  ConfigTransaction(const ConfigTransaction&) = delete;
  ConfigTransaction& operator=(const ConfigTransaction&) = delete;

  /// Makes the changes in order. Stops at the first change that fails, and names it in the error.
  /// If `events` is not null, it receives the audit events of the changes (config_audit.h), without
  /// ids and times; it must be ignored after an error.
  [[nodiscard]] Status Make(std::span<const ConfigChange> changes,
                            std::vector<AuditEvent>* events = nullptr);
  /// Keeps the changes.
  void Commit();

 private:
  template <class Key, class Value>
  struct Old {
    Key key;
    std::optional<Value> value;
  };
  using OldLimits = Old<Level, LevelLimits>;
  using OldEntity = Old<std::string, EntityRecord>;

  Status MakeOne(const PutLimits& put);
  Status MakeOne(const DeleteLimits& change);
  Status MakeOne(const CreateEntity& create);
  Status MakeOne(const PutEntity& put);
  Status MakeOne(const DeleteEntity& change);

  /// Returns the entity's record before a PutEntity.
  std::optional<EntityRecord> EntityBefore(const ConfigChange& change) const;
  void Set(const Level& level, std::optional<LevelLimits> value);
  void Set(const std::string& id, std::optional<EntityRecord> value);

  /// Returns kFailedPrecondition if a change closed a cycle of parents.
  Status CheckParents(std::size_t count) const;
  /// Returns the entity and its ancestors. The chain ends with the first ancestor that is in
  /// `sound` (known to be free of cycles) or that is in the chain already.
  std::vector<std::string> ParentsFrom(const std::string& id,
                                       const std::set<std::string>& sound) const;
  Error CycleError(std::vector<std::string> cycle, std::size_t count) const;

  ConfigTable& table_;
  const ConfigTable::HasBuckets& has_buckets_;
  std::size_t index_ = 0;                          ///< the change that is being made
  std::map<std::string, std::size_t> set_parent_;  ///< the last change that set the entity's parent
  std::vector<std::variant<OldLimits, OldEntity>> undo_;
};

}  // namespace weir
