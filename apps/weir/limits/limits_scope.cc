#include "apps/weir/limits/limits_scope.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "weir/model/namespace_name.h"
#include "weir/runtime/await.h"

namespace weir::app {
namespace {

/// Returns the name of the namespace with this id, if it is registered. Blocks.
Result<std::optional<std::string>> NameOfId(NamespaceStore& spaces, std::string_view id,
                                            Deadline deadline) {
  PageRequest request;
  do {
    WEIR_ASSIGN_OR_RETURN(const Page<Namespace> page, Await<Page<Namespace>>([&](auto done) {
                            spaces.List(request, deadline, std::move(done));
                          }));
    for (const Namespace& space : page.items) {
      if (space.id == id) return std::optional(space.name);
    }
    request.cursor = page.next;
  } while (!request.cursor.empty());
  return std::optional<std::string>();
}

}  // namespace

Result<LimitsScope> ScopeOf(Context& context, Backend& backend) {
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
  WEIR_ASSIGN_OR_RETURN(const StoreName name, NameOfStore(choice.url, context.process()));
  const auto id = ParseIdReference(name.namespace_name);
  if (!id) return LimitsScope{name.store, name.namespace_name};
  WEIR_ASSIGN_OR_RETURN(const auto registered,
                        NameOfId(backend.namespaces(), *id, context.StoreDeadline()));
  return LimitsScope{name.store, registered.value_or(std::string(*id))};
}

Status CheckScope(const LimitsFile& file, const std::string& file_name, const LimitsScope& scope) {
  if (scope.namespace_name.empty() || scope.namespace_name == file.namespace_name) return {};
  return Fail(Code::kFailedPrecondition,
              fmt::format("{} is for namespace {}, but the store is {}: name that namespace in the "
                          "store's URL, or {} in the file",
                          file_name, file.namespace_name, TextOf(scope), scope.namespace_name));
}

nlohmann::ordered_json WithScope(const LimitsScope& scope, const nlohmann::ordered_json& result) {
  nlohmann::ordered_json json{{"store", scope.store}, {"namespace", nullptr}};
  if (!scope.namespace_name.empty()) json["namespace"] = scope.namespace_name;
  json.update(result);
  return json;
}

std::string TextOf(const LimitsScope& scope) {
  if (scope.namespace_name.empty()) return scope.store;
  return fmt::format("{}, namespace {}", scope.store, scope.namespace_name);
}

}  // namespace weir::app
