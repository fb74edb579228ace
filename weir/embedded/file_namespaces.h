// NamespaceStore on files: each namespace has a file of its own. Mechanism:
// docs/design/embedded.md.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/base/rng.h"
#include "weir/embedded/namespace_registry.h"
#include "weir/store/config/namespace_store.h"

namespace weir {

/// Opens the registry's file in each call, also if another process owns the data. A call therefore
/// blocks, ignores its deadline, and completes before it returns. A purge fails if a process owns
/// the namespace's own file. `clock` must outlive this object.
class FileNamespaces final : public NamespaceStore {
 public:
  /// Every call begins with `check`, and returns its error, if any.
  FileNamespaces(
      NamespaceRegistry registry, const Clock& clock,
      std::function<Status()> check = [] { return Status(); });

  void Register(std::string_view name, Deadline deadline, Done<Namespace> done) override;
  void Get(std::string_view name, Deadline deadline, Done<std::optional<Namespace>> done) override;
  void List(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) override;
  void Delete(std::string_view name, Deadline deadline, Done<Namespace> done) override;
  void Recover(std::string_view id, Deadline deadline, Done<Namespace> done) override;
  void Orphans(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) override;
  void Purge(std::string_view id, Deadline deadline, Done<std::uint64_t> done) override;
  void Resolve(std::string_view name_or_id, Deadline deadline, Done<std::string> done) override;

 private:
  /// Returns an id that `table` does not have.
  std::string NewId(const NamespaceTable& table);

  const NamespaceRegistry registry_;
  const Clock& clock_;
  const std::function<Status()> check_;
  Mutex mutex_;
  Rng random_ WEIR_GUARDED_BY(mutex_);
};

/// Returns a seed that differs between successive owners of a file.
std::uint64_t SeedOf(const Clock& clock);

}  // namespace weir
