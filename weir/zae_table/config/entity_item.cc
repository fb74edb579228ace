#include "weir/zae_table/config/entity_item.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/codec/iso_time.h"
#include "weir/model/quoted.h"
#include "weir/zae_table/config/config_fields.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kCreated = "wx_created";
// FormatIso writes the years 0 to 9999; only kCreated holds a time beyond them.
constexpr UnixMillis kFirst{-62'167'219'200'000};
constexpr UnixMillis kLast{253'402'300'799'999};

std::string CreatedText(UnixMillis at) { return FormatIso(std::clamp(at, kFirst, kLast)); }

UnixMillis ReadCreated(const Item& item) {
  const std::string* text = GetText(item, "created_at");
  const auto exact = GetNumber(item, kCreated);
  if (exact && text != nullptr && CreatedText({*exact}) == *text) return {*exact};
  return text == nullptr ? UnixMillis{} : ParseIso(*text).value_or(UnixMillis{});
}

bool Absent(const Item& item, std::string_view name) {
  const auto found = item.find(name);
  return found == item.end() || found->second == Value{Null{}};
}

tl::unexpected<Error> WrongKind(const std::string& id, std::string_view attribute) {
  return Fail(Code::kDataLoss, fmt::format("entity {}: attribute {} of its item has a wrong type",
                                           Printable(id), attribute));
}

// The part of the partition key after its first '#'.
std::string IdOf(const Item& item) {
  const std::string pk = KeyOf(item).pk;
  return pk.substr(std::min(pk.find('#'), pk.size() - 1) + 1);
}

// Keeps the metadata of the old item that are not strings, since an Entity cannot hold them.
Value Metadata(const Entity& entity, const Item* old) {
  Item metadata;
  for (const auto& [name, text] : entity.metadata) metadata.emplace(name, Of(text));
  const Item* const before = old == nullptr ? nullptr : GetMap(*old, "metadata");
  if (before == nullptr) return {std::move(metadata)};
  for (const auto& [name, value] : *before) {
    if (GetText(*before, name) == nullptr) metadata.emplace(name, value);
  }
  return {std::move(metadata)};
}

void SetParent(const Keys& keys, const Entity& entity, Expression& expression) {
  if (!entity.parent) {
    expression.Set("parent_id", {Null{}}).Remove("GSI1PK").Remove("GSI1SK");
    return;
  }
  expression.Set("parent_id", Of(*entity.parent))
      .Set("GSI1PK", Of(keys.ChildrenOf(*entity.parent)))
      .Set("GSI1SK", Of(fmt::format("CHILD#{}", entity.id)));
}

void SetContents(const Keys& keys, const EntityRecord& record, const Item* old,
                 Expression& expression) {
  const Entity& entity = record.entity;
  expression.Set("entity_id", Of(entity.id))
      .Set("name", Of(entity.name))
      .Set("cascade", Of(entity.cascade))
      .Set("metadata", Metadata(entity, old))
      .Set("GSI4PK", Of(keys.namespace_id()))
      .Set("GSI4SK", Of(keys.Entity(entity.id).pk));
  SetParent(keys, entity, expression);
  if (record.managed) {
    expression.Set(kManaged, Of(true));
  } else {
    expression.Remove(kManaged);
  }
}

void SetBirth(const Entity& entity, const Birth& birth, Expression& expression) {
  expression.Set("created_at", Of(CreatedText(entity.created_at)))
      .Set(kCreated, Of(entity.created_at.value))
      .Set("pgen", Of(birth.now.value))
      .Set("pinc", Of(Hex(birth.random)));
}

// Requires the same incarnation. An item without pinc is identified by its created_at.
void RequireIncarnation(const Item& old, Expression& expression) {
  expression.RequireExists("PK");
  expression.RequireSameAs(old, "pinc");
  if (!old.contains("pinc")) expression.RequireSameAs(old, "created_at");
}

void RequireParent(const Item& old, Expression& expression) {
  expression.RequireSameAs(old, "pgen").RequireSameAs(old, "parent_id");
}

Write EntityWrite(const Keys& keys, const std::string& id, Write::Kind kind) {
  return {.kind = kind, .key = keys.Entity(id), .item = {}};
}

}  // namespace

Result<EntityRecord> ReadEntity(const Item& item) {
  EntityRecord record;
  Entity& entity = record.entity;
  entity.id = IdOf(item);
  const std::string* name = GetText(item, "name");
  entity.name = name == nullptr || name->empty() ? entity.id : *name;
  if (!Absent(item, "parent_id")) {
    const std::string* parent = GetText(item, "parent_id");
    if (parent == nullptr) return WrongKind(entity.id, "parent_id");
    if (!parent->empty()) entity.parent = *parent;
  }
  if (!Absent(item, "cascade")) {
    const auto cascade = GetFlag(item, "cascade");
    if (!cascade) return WrongKind(entity.id, "cascade");
    entity.cascade = *cascade;
  }
  if (const Item* metadata = GetMap(item, "metadata")) {
    for (const auto& [key, value] : *metadata) {
      if (const std::string* text = GetText(*metadata, key)) entity.metadata.emplace(key, *text);
    }
  }
  entity.created_at = ReadCreated(item);
  record.managed = GetFlag(item, kManaged).value_or(false);
  return record;
}

Write MakeEntity(const Keys& keys, const EntityRecord& record, const Birth& birth) {
  Write write = EntityWrite(keys, record.entity.id, Write::Kind::kUpdate);
  write.expression.RequireAbsent("PK");
  SetContents(keys, record, nullptr, write.expression);
  SetBirth(record.entity, birth, write.expression);
  return write;
}

Write ChangeEntity(const Keys& keys, const EntityRecord& record, const Item& old) {
  Write write = EntityWrite(keys, record.entity.id, Write::Kind::kUpdate);
  RequireIncarnation(old, write.expression);
  RequireParent(old, write.expression);
  SetContents(keys, record, &old, write.expression);
  const std::string* parent = GetText(old, "parent_id");
  const bool moves =
      parent == nullptr ? record.entity.parent.has_value() : record.entity.parent != *parent;
  // A change of cascade also increments pgen, so that if two changes are copied to the buckets at
  // once, the later change prevails.
  const bool changes_cascade = record.entity.cascade != GetFlag(old, "cascade").value_or(false);
  if (moves || changes_cascade) write.expression.Add("pgen", 1);
  return write;
}

Write RemakeEntity(const Keys& keys, const EntityRecord& record, const Item& old,
                   const Birth& birth) {
  Write write = EntityWrite(keys, record.entity.id, Write::Kind::kUpdate);
  RequireIncarnation(old, write.expression);
  SetContents(keys, record, nullptr, write.expression);
  SetBirth(record.entity, birth, write.expression);
  return write;
}

Write DropEntity(const Keys& keys, const std::string& id, const Item& old) {
  Write write = EntityWrite(keys, id, Write::Kind::kDelete);
  RequireIncarnation(old, write.expression);
  return write;
}

Write CheckEntity(const Keys& keys, const std::string& id, const Item* old) {
  Write write = EntityWrite(keys, id, Write::Kind::kCheck);
  if (old == nullptr) {
    write.expression.RequireAbsent("PK");
    return write;
  }
  RequireIncarnation(*old, write.expression);
  RequireParent(*old, write.expression);
  return write;
}

}  // namespace weir::dynamo
