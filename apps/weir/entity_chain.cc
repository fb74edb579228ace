#include "apps/weir/entity_chain.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/weir/terminal/listing.h"

namespace weir::app {
namespace {

/// The entities that a request of the first one charges: "child -> parent".
struct Chain {
  std::string text;
  std::size_t charged = 1;
};

tl::unexpected<Error> TooLong(const std::string& entity, const std::string& chain) {
  return Fail(Code::kFailedPrecondition,
              fmt::format("entity {}: its requests would charge more than {} entities: {}; omit "
                          "--cascade, or name a parent further up",
                          entity, kMaxCascade, chain));
}

Result<Chain> ChainAbove(const Entity& entity, Context& context, ConfigStore& store) {
  std::optional<std::string> above = entity.cascade ? entity.parent : std::nullopt;
  Chain chain{.text = entity.id};
  for (; above; ++chain.charged) {
    chain.text += " -> " + *above;
    if (chain.charged == kMaxCascade) return TooLong(entity.id, chain.text);
    WEIR_ASSIGN_OR_RETURN(const auto record, GetEntity(store, *above, context.StoreDeadline()));
    above = record && record->entity.cascade ? record->entity.parent : std::nullopt;
  }
  return chain;
}

}  // namespace

Status CheckCascades(const Entity& entity, Context& context, ConfigStore& store) {
  if (!entity.cascade) return {};
  WEIR_ASSIGN_OR_RETURN(const Chain own, ChainAbove(entity, context, store));
  std::vector<std::pair<std::string, Chain>> pending{{entity.id, own}};
  while (!pending.empty()) {
    const auto [id, chain] = std::move(pending.back());
    pending.pop_back();
    WEIR_ASSIGN_OR_RETURN(const auto children,
                          ListEntities(store, id, context.RequestDeadlines(), &context.left_out()));
    for (const EntityRecord& child : children) {
      if (!child.entity.cascade) continue;
      Chain longer{.text = child.entity.id + " -> " + chain.text, .charged = chain.charged + 1};
      if (longer.charged > kMaxCascade) return TooLong(child.entity.id, longer.text);
      pending.emplace_back(child.entity.id, std::move(longer));
    }
  }
  return {};
}

}  // namespace weir::app
