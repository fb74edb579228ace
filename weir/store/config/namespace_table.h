// The namespaces of one store in the memory of one process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/store/config/namespace_store.h"

namespace weir {

/// Follows the rules of NamespaceStore. A value; not thread-safe: its owner locks, and checks names
/// and ids before each call.
class NamespaceTable {
 public:
  /// Registers `wanted` as active and returns it, or returns the existing namespace of its name.
  /// REQUIRES: no record has its id.
  Namespace Register(Namespace wanted);
  [[nodiscard]] std::optional<Namespace> Get(std::string_view name) const;
  [[nodiscard]] std::optional<Namespace> GetById(std::string_view id) const;
  [[nodiscard]] Result<Page<Namespace>> List(const PageRequest& page) const;
  [[nodiscard]] Result<Namespace> Delete(std::string_view name, UnixMillis now);
  [[nodiscard]] Result<Namespace> Recover(std::string_view id);
  [[nodiscard]] Result<Page<Namespace>> Orphans(const PageRequest& page) const;
  [[nodiscard]] Result<std::string> Resolve(std::string_view name_or_id) const;

  /// Call BeginPurge before the data are deleted, and EndPurge afterwards. BeginPurge returns the
  /// namespace that is being purged.
  [[nodiscard]] Result<Namespace> BeginPurge(std::string_view id);
  void EndPurge(std::string_view id);

  /// Adds a namespace that was stored in a file.
  void Load(Namespace space);

 private:
  std::vector<Namespace> AllOrphans() const;

  std::map<std::string, Namespace, std::less<>> by_id_;
  // Of the active namespaces.
  std::map<std::string, std::string, std::less<>> id_by_name_;
};

/// Return kInvalidArgument unless the cursor is empty, or is a name (CheckNamePage) or an id
/// (CheckIdPage).
[[nodiscard]] Status CheckNamePage(const PageRequest& page);
[[nodiscard]] Status CheckIdPage(const PageRequest& page);

}  // namespace weir
