#include "weir/store/config/namespace_store.h"

#include <fmt/format.h>

#include "weir/model/quoted.h"

namespace weir {

tl::unexpected<Error> NotRegistered(std::string_view name) {
  return Fail(Code::kNotFound, fmt::format("namespace {} is not registered: 'weir namespace "
                                           "register {}' registers it",
                                           name, name));
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
  return Fail(Code::kFailedPrecondition,
              fmt::format("namespace id {} is {}: 'weir namespace orphans' lists such", id,
                          Name(found->status)));
}

}  // namespace weir
