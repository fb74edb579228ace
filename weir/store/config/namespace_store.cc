#include "weir/store/config/namespace_store.h"

#include <fmt/format.h>

#include <utility>

#include "weir/model/quoted.h"

namespace weir {

tl::unexpected<Error> NotRegistered(std::string_view name) {
  return Fail(Code::kNotFound, fmt::format("namespace {} is not registered: 'weir namespace "
                                           "register {}' registers it",
                                           name, name));
}

tl::unexpected<Error> NoNamespaceToDelete(std::string_view name) {
  return Fail(Code::kNotFound, fmt::format("namespace {} is not registered: 'weir namespace list' "
                                           "lists those that are",
                                           name));
}

tl::unexpected<Error> OrRecoverable(Error error, std::string_view name,
                                    const std::vector<Namespace>& orphans) {
  const Namespace* latest = nullptr;
  for (const Namespace& space : orphans) {
    if (space.name != name || space.status == NamespaceStatus::kPurging) continue;
    if (latest == nullptr || latest->deleted_at < space.deleted_at) latest = &space;
  }
  if (latest == nullptr) return Fail(std::move(error));
  return Fail(Code::kNotFound,
              fmt::format("namespace {} is deleted: 'weir namespace recover {}{}' restores it",
                          name, latest->id.starts_with('-') ? "-- " : "", latest->id));
}

tl::unexpected<Error> NotYetDeleted(const Namespace& space) {
  return UnfitNamespace(space, "is active: 'weir namespace delete' must come before a purge");
}

tl::unexpected<Error> NameIsTaken(const Namespace& space, std::string_view other_id) {
  return UnfitNamespace(
      space, fmt::format("cannot be recovered: its name belongs to {} by now; 'weir namespace "
                         "delete {}' frees the name, and keeps the data of that namespace",
                         other_id, Printable(space.name)));
}

tl::unexpected<Error> UnknownNamespaceId(std::string_view id) {
  return Fail(Code::kNotFound,
              fmt::format("no namespace has the id {}: 'weir namespace orphans' lists those that "
                          "are deleted",
                          Quoted(id)));
}

tl::unexpected<Error> UnfitNamespace(const Namespace& space, std::string_view why) {
  return Fail(Code::kFailedPrecondition,
              fmt::format("namespace {} ({}) {}", space.id, Quoted(space.name), why));
}

Result<std::string> ResolveId(std::string_view id, const std::optional<Namespace>& found) {
  if (!found || found->status == NamespaceStatus::kActive) return std::string(id);
  return Fail(
      Code::kFailedPrecondition,
      fmt::format("namespace id {} is {}: 'weir namespace orphans' lists the deleted namespaces",
                  id, Name(found->status)));
}

}  // namespace weir
