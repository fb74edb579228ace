// Where the isolated tenants of one store are registered, deleted and recovered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/done.h"
#include "weir/model/namespace.h"
#include "weir/runtime/deadline.h"
#include "weir/store/bucket_store.h"

namespace weir {

/// The errors of names and ids that lead nowhere, as every store words them.
tl::unexpected<Error> NotRegistered(std::string_view name);
tl::unexpected<Error> UnknownNamespaceId(std::string_view id);
tl::unexpected<Error> UnfitNamespace(const Namespace& space, std::string_view why);
/// What `id:ID` resolves to, by the record of that id, if there is one.
[[nodiscard]] Result<std::string> ResolveId(std::string_view id,
                                            const std::optional<Namespace>& found);

/// As BucketStore in threads, lifetimes and errors. Each change is all or nothing: a call that is
/// cut off leaves no half of it. One that loses to changes of others again and again is kAborted.
/// Names are those that CheckNamespace accepts; others are kInvalidArgument.
class NamespaceStore {
 public:
  virtual ~NamespaceStore() = default;

  /// Registers the name and answers its namespace; the one that there is where it is registered
  /// already. Nothing else ever registers one.
  virtual void Register(std::string_view name, Deadline deadline, Done<Namespace> done) = 0;

  /// By name; nothing where it is not registered.
  virtual void Get(std::string_view name, Deadline deadline,
                   Done<std::optional<Namespace>> done) = 0;

  /// Those that are registered, in order of their names.
  virtual void List(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) = 0;

  /// Frees the name and marks the id as deleted; the data stay and can be recovered or purged. The
  /// answer is the namespace as it is then. kNotFound where the name is not registered.
  virtual void Delete(std::string_view name, Deadline deadline, Done<Namespace> done) = 0;

  /// Gives the id its name back. kNotFound for an unknown id; kFailedPrecondition where it is
  /// active, is being purged, or its name leads to another namespace by now.
  virtual void Recover(std::string_view id, Deadline deadline, Done<Namespace> done) = 0;

  /// The ids whose names do not lead to them, in order: deleted, or in the middle of a purge.
  virtual void Orphans(const PageRequest& page, Deadline deadline, Done<Page<Namespace>> done) = 0;

  /// Deletes all data of an orphan for good, then its record; answers how many items. A purge that
  /// was cut off goes on with the next call. kNotFound for an unknown id, also of a purge that is
  /// complete; kFailedPrecondition where it is active.
  virtual void Purge(std::string_view id, Deadline deadline, Done<std::uint64_t> done) = 0;

  /// The id under which data are kept. A name must be registered (kNotFound). `id:ID` is the id
  /// XXXX, for which there need be no record, but not one that is deleted or being purged
  /// (kFailedPrecondition).
  virtual void Resolve(std::string_view name_or_id, Deadline deadline, Done<std::string> done) = 0;
};

}  // namespace weir
