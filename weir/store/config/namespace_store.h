// The registry of namespaces, the isolated tenants of one store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/api.h"
#include "weir/base/done.h"
#include "weir/model/namespace.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket/bucket_store.h"

namespace weir {

/// Errors for names and ids without a usable namespace; every store uses the same texts.
WEIR_API tl::unexpected<Error> NotRegistered(std::string_view name);
WEIR_API tl::unexpected<Error> NoNamespaceToDelete(std::string_view name);
WEIR_API tl::unexpected<Error> UnknownNamespaceId(std::string_view id);
WEIR_API tl::unexpected<Error> UnfitNamespace(const Namespace& space, std::string_view why);
WEIR_API tl::unexpected<Error> NotYetDeleted(const Namespace& space);
WEIR_API tl::unexpected<Error> NameIsTaken(const Namespace& space, std::string_view other_id);
/// Returns kNotFound with the id to recover if an orphan has the name and is not being purged (the
/// one that was deleted last); otherwise `error`.
WEIR_API tl::unexpected<Error> OrRecoverable(Error error, std::string_view name,
                                             const std::vector<Namespace>& orphans);
/// Returns the id that `id:ID` resolves to. `found` is the record of that id, if there is one.
[[nodiscard]] WEIR_API Result<std::string> ResolveId(std::string_view id,
                                                     const std::optional<Namespace>& found);

/// Threads, lifetimes and errors are as for BucketStore. Each change is atomic, also if the call is
/// interrupted. A change that repeatedly conflicts with other changes fails with kAborted. A call
/// with a name that does not pass CheckNamespace fails with kInvalidArgument.
class WEIR_API NamespaceStore {
 public:
  virtual ~NamespaceStore() = default;

  /// Registers the name and returns its namespace; if it is registered already, returns the
  /// existing one. No other method registers a name.
  virtual void Register(std::string_view name, Deadline deadline, Done<Namespace> done) = 0;

  /// Returns the namespace of a name; nothing if it is not registered.
  virtual void Get(std::string_view name, Deadline deadline,
                   Done<std::optional<Namespace>> done) = 0;

  /// Returns the registered namespaces in the order of their names.
  virtual void List(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) = 0;

  /// Frees the name and marks the id as deleted. The data stay, and can be recovered or purged.
  /// Returns the namespace after the change. Fails with kNotFound if the name is not registered.
  virtual void Delete(std::string_view name, Deadline deadline, Done<Namespace> done) = 0;

  /// Restores the id's name. Fails with kNotFound for an unknown id, and with kFailedPrecondition
  /// if the id is active or is being purged, or if the name belongs to another namespace now.
  virtual void Recover(std::string_view id, Deadline deadline, Done<Namespace> done) = 0;

  /// Returns the namespaces that are deleted or partly purged, in the order of their ids.
  virtual void Orphans(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) = 0;

  /// Deletes all data of a deleted namespace for good, then its record. Returns the number of
  /// deleted items. The next call continues an interrupted purge. Fails with kNotFound for an
  /// unknown id, also after a complete purge, and with kFailedPrecondition if the id is active.
  virtual void Purge(std::string_view id, Deadline deadline, Done<std::uint64_t> done) = 0;

  /// Returns the id under which data are stored. A name must be registered (otherwise kNotFound).
  /// `id:ID` resolves to ID, which needs no record, but must not be deleted or being purged
  /// (kFailedPrecondition).
  virtual void Resolve(std::string_view name_or_id, Deadline deadline, Done<std::string> done) = 0;
};

}  // namespace weir
