#include "weir/model/entity.h"

#include <fmt/format.h>

#include "weir/model/identifier.h"
#include "weir/model/stored_text.h"

namespace weir {

Status CheckEntityName(const Entity& entity) {
  const std::string what = fmt::format("entity {}: name", entity.id);
  return CheckText({.what = what, .longest = kLongestEntityName, .may_be_empty = true},
                   entity.name);
}

Status CheckMetadata(const Entity& entity) {
  const std::string key_name = fmt::format("entity {}: metadata key", entity.id);
  const std::string value_name = fmt::format("entity {}: metadata value", entity.id);
  const TextRule key_rule{.what = key_name, .longest = kLongestMetadataKey};
  const TextRule value_rule{.what = value_name,
                            .longest = kLongestMetadataValue,
                            .may_be_empty = true,
                            .may_have_lines = true};
  std::size_t bytes = 0;
  for (const auto& [key, value] : entity.metadata) {
    WEIR_RETURN_IF_ERROR(CheckText(key_rule, key));
    WEIR_RETURN_IF_ERROR(CheckText(value_rule, value));
    bytes += key.size() + value.size();
  }
  if (bytes <= kLongestMetadata) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("entity {}: metadata of {} bytes; expected at most {}", entity.id, bytes,
                          kLongestMetadata));
}

Status Check(const Entity& entity) {
  WEIR_RETURN_IF_ERROR(CheckEntityId(entity.id));
  if (entity.parent) WEIR_RETURN_IF_ERROR(CheckEntityId(*entity.parent));
  WEIR_RETURN_IF_ERROR(CheckEntityName(entity));
  return CheckMetadata(entity);
}

}  // namespace weir
