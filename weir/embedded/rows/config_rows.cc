#include "weir/embedded/rows/config_rows.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "weir/embedded/rows/bucket_codec.h"
#include "weir/model/identifier.h"

namespace weir {
namespace {

namespace ondemand = simdjson::ondemand;

// The names of Level::Kind, in its order.
constexpr std::array<std::string_view, 4> kKinds = {"system", "resource", "entity_default",
                                                    "entity"};

std::string_view KindName(Level::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string LimitsText(const std::vector<Limit>& limits) {
  std::string text = "{";
  for (const Limit& limit : limits) {
    if (text.size() > 1) text += ',';
    AppendQuoted(text, limit.name);
    fmt::format_to(std::back_inserter(text), ":[{},{},{}", limit.quota.capacity, limit.quota.amount,
                   limit.quota.period);
    if (limit.allowance != milliseconds(0)) {
      fmt::format_to(std::back_inserter(text), ",{}", limit.allowance.count());
    }
    text += ']';
  }
  return text += '}';
}

std::string MetadataText(const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  for (const auto& [key, value] : metadata) {
    if (text.size() > 1) text += ',';
    AppendQuoted(text, key);
    text += ':';
    AppendQuoted(text, value);
  }
  return text += '}';
}

bool ReadTerms(ondemand::value value, Limit& limit) {
  ondemand::array array;
  if (value.get_array().get(array)) return false;
  std::array<std::int64_t, 4> numbers{};
  std::size_t count = 0;
  for (auto element : array) {
    if (count == numbers.size() || element.get_int64().get(numbers[count++])) return false;
  }
  limit.quota = {.capacity = numbers[0], .amount = numbers[1], .period = numbers[2]};
  limit.allowance = milliseconds(numbers[3]);
  return count + 1 >= numbers.size();
}

// Calls `field(name, value)` for each member of a JSON object. Returns false if `field` returns
// false, or if the text is not an object.
template <class Field>
bool ReadObject(std::string_view text, Field&& field) {
  ondemand::parser parser;
  const simdjson::padded_string padded(text);
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) || document.get_object().get(object)) return false;
  for (auto element : object) {
    std::string_view name;
    ondemand::value value;
    if (element.unescaped_key().get(name) || element.value().get(value)) return false;
    if (!field(std::string(name), value)) return false;
  }
  const char* rest = nullptr;
  return document.current_location().get(rest) != simdjson::SUCCESS;
}

bool ReadLimitList(std::string_view text, std::vector<Limit>& limits) {
  return ReadObject(text, [&](std::string name, ondemand::value value) {
    limits.push_back({.name = std::move(name), .quota = {}});
    return ReadTerms(value, limits.back());
  });
}

bool ReadMetadata(std::string_view text, std::map<std::string, std::string>& metadata) {
  return ReadObject(text, [&](std::string name, ondemand::value value) {
    std::string_view string;
    if (value.get_string().get(string)) return false;
    metadata.emplace(std::move(name), string);
    return true;
  });
}

bool ReadOnUnavailable(const sqlite::Statement& row, int column, std::optional<OnUnavailable>& on) {
  if (row.IsNull(column)) return true;
  on = row.Text(column) == "block" ? OnUnavailable::kBlock : OnUnavailable::kAllow;
  return row.Text(column) == "block" || row.Text(column) == "allow";
}

// The readers of level and entity rows. A reader returns false if the row cannot be used;
// ReadEntity also notes the columns that it drops.
bool ReadLevel(const sqlite::Statement& row, PutLimits& put, DamageReport&) {
  const auto kind = std::ranges::find(kKinds, row.Text(0));
  if (kind == kKinds.end()) {
    put.level = Level::Resource("");  // no level: Check refuses it
    return false;
  }
  put.level = {.kind = static_cast<Level::Kind>(kind - kKinds.begin()),
               .entity = std::string(row.Text(1)),
               .resource = std::string(row.Text(2))};
  put.limits.managed = row.Integer(5) != 0;
  return ReadLimitList(row.Text(3), put.limits.limits) &&
         ReadOnUnavailable(row, 4, put.limits.on_unavailable);
}

void NoteColumn(const Entity& entity, std::string_view what, DamageReport& damage) {
  damage.Note("entity", fmt::format("{}: {}", entity.id, what));
}

void DropBadColumns(const sqlite::Statement& row, Entity& entity, DamageReport& damage) {
  if (!CheckEntityName(entity)) {
    NoteColumn(entity, "its name is unreadable; its id is used instead", damage);
    entity.name.clear();
  }
  if (!ReadMetadata(row.Text(4), entity.metadata) || !CheckMetadata(entity)) {
    NoteColumn(entity, "its metadata is unreadable and is left out", damage);
    entity.metadata.clear();
  }
}

bool ReadEntity(const sqlite::Statement& row, PutEntity& put, DamageReport& damage) {
  Entity& entity = put.record.entity;
  entity.id = row.Text(0);
  entity.name = row.Text(1);
  if (!row.IsNull(2)) entity.parent = std::string(row.Text(2));
  entity.cascade = row.Integer(3) != 0;
  entity.created_at = {row.Integer(5)};
  put.record.managed = row.Integer(6) != 0;
  if (!CheckEntityId(entity.id)) return false;
  const bool is_truth = row.Text(3) == "0" || row.Text(3) == "1";
  if (entity.parent && !(is_truth && CheckEntityId(*entity.parent))) return false;
  DropBadColumns(row, entity, damage);
  return true;
}

constexpr std::string_view kSelectLevels =
    "SELECT kind, entity, resource, limits, on_unavailable, managed FROM level";
constexpr std::string_view kSelectEntities =
    "SELECT id, name, parent, cascade, metadata, created_at, managed FROM entity";

// How the rows of a table are read.
template <class Put>
struct RowReader {
  std::string_view table;
  std::string_view sql;
  bool (*read)(const sqlite::Statement& row, Put& put, DamageReport& damage);
};

constexpr RowReader<PutEntity> kEntities = {
    .table = "entity", .sql = kSelectEntities, .read = ReadEntity};
constexpr RowReader<PutLimits> kLevels = {
    .table = "level", .sql = kSelectLevels, .read = ReadLevel};

// What damage does, for its report.
constexpr std::string_view kIsLeftOut = "it is left out";
constexpr std::string_view kRequestsFail =
    "requests that need its limits fail until they are set or deleted, and a repair drops it";
constexpr std::string_view kMayHaveAParent =
    "its requests may have to be charged to a parent, so they fail until it is created again or "
    "deleted, and a repair drops it";

// Appends the rows as changes. Calls `on_unreadable` for each other row, with the columns that were
// read before the unreadable one; it returns the consequence.
template <class Put, class OnUnreadable>
Status AppendChanges(sqlite::Connection& connection, const RowReader<Put>& reader,
                     std::vector<ConfigChange>& changes, DamageReport& damage,
                     OnUnreadable on_unreadable) {
  WEIR_ASSIGN_OR_RETURN(sqlite::Statement statement, connection.Prepare(reader.sql));
  Result<bool> row = true;
  while ((row = statement.Step()) && *row) {
    Put put;
    if (reader.read(statement, put, damage)) {
      changes.emplace_back(std::move(put));
    } else {
      damage.Note(reader.table,
                  fmt::format("{} {} {}: the row is unreadable; {}", statement.Text(0),
                              statement.Text(1), statement.Text(2), on_unreadable(put)));
    }
  }
  return row.map([](bool) {});
}

std::string_view TableOf(const ConfigChange& change) {
  return std::holds_alternative<PutLimits>(change) ? "level" : "entity";
}

// Writes rows of the two tables, each in the state that the table in memory has now.
class Writer {
 public:
  static Result<Writer> Make(sqlite::Connection& connection, const ConfigTable& table) {
    Writer writer(table);
    WEIR_ASSIGN_OR_RETURN(writer.put_level_,
                          connection.Prepare("REPLACE INTO level VALUES(?, ?, ?, ?, ?, ?)"));
    WEIR_ASSIGN_OR_RETURN(
        writer.delete_level_,
        connection.Prepare("DELETE FROM level WHERE kind = ? AND entity = ? AND resource = ?"));
    WEIR_ASSIGN_OR_RETURN(
        writer.delete_levels_,
        connection.Prepare(
            "DELETE FROM level WHERE kind IN ('entity', 'entity_default') AND entity = ?"));
    WEIR_ASSIGN_OR_RETURN(writer.put_entity_,
                          connection.Prepare("REPLACE INTO entity VALUES(?, ?, ?, ?, ?, ?, ?)"));
    WEIR_ASSIGN_OR_RETURN(writer.delete_entity_,
                          connection.Prepare("DELETE FROM entity WHERE id = ?"));
    return writer;
  }

  Status operator()(const PutLimits& put) { return Write(put.level); }
  Status operator()(const DeleteLimits& deleted) { return Write(deleted.level); }
  Status operator()(const CreateEntity& create) { return Write(create.record.entity.id); }
  Status operator()(const PutEntity& put) { return Write(put.record.entity.id); }
  Status operator()(const DeleteEntity& deleted) {
    // The limits of an entity are deleted with it.
    WEIR_RETURN_IF_ERROR(delete_levels_->Bind(1, deleted.id).Run());
    return Write(deleted.id);
  }

 private:
  explicit Writer(const ConfigTable& table) : table_(&table) {}

  Status Write(const Level& level) {
    const std::optional<LevelLimits> current = table_->GetLimits(level);
    sqlite::Statement& statement = current ? *put_level_ : *delete_level_;
    statement.Bind(1, KindName(level.kind)).Bind(2, level.entity).Bind(3, level.resource);
    if (!current) return statement.Run();
    const std::string limits = LimitsText(current->limits);
    statement.Bind(4, limits).BindNull(5).Bind(6, current->managed ? 1 : 0);
    if (current->on_unavailable) {
      statement.Bind(5, *current->on_unavailable == OnUnavailable::kBlock ? "block" : "allow");
    }
    return statement.Run();
  }

  Status Write(const std::string& id) {
    const std::optional<EntityRecord> current = table_->GetEntity(id);
    if (!current) return delete_entity_->Bind(1, id).Run();
    const Entity& entity = current->entity;
    const std::string metadata = MetadataText(entity.metadata);
    sqlite::Statement& statement = *put_entity_;
    statement.Bind(1, id).Bind(2, entity.name).BindNull(3).Bind(4, entity.cascade ? 1 : 0);
    statement.Bind(5, metadata).Bind(6, entity.created_at.value).Bind(7, current->managed ? 1 : 0);
    if (entity.parent) statement.Bind(3, *entity.parent);
    return statement.Run();
  }

  const ConfigTable* table_;
  std::optional<sqlite::Statement> put_level_, delete_level_, delete_levels_, put_entity_,
      delete_entity_;
};

}  // namespace

Status WriteConfig(sqlite::Connection& connection, const ConfigTable& table,
                   std::span<const ConfigChange> changes) {
  WEIR_ASSIGN_OR_RETURN(Writer writer, Writer::Make(connection, table));
  for (const ConfigChange& change : changes) WEIR_RETURN_IF_ERROR(std::visit(writer, change));
  return {};
}

Status RewriteConfig(sqlite::Connection& connection, const ConfigTable& table) {
  const PageRequest all{.cursor = {}, .limit = SIZE_MAX};
  WEIR_RETURN_IF_ERROR(connection.Execute("DELETE FROM level; DELETE FROM entity"));
  std::vector<ConfigChange> changes;
  WEIR_ASSIGN_OR_RETURN(const Page<EntityRecord> entities, table.ListEntities({}, all));
  WEIR_ASSIGN_OR_RETURN(const Page<LevelRecord> levels, table.ListLimits({}, all));
  changes.reserve(entities.items.size() + levels.items.size());
  for (const EntityRecord& record : entities.items) changes.emplace_back(PutEntity{record});
  for (const auto& [level, limits] : levels.items) changes.emplace_back(PutLimits{level, limits});
  return WriteConfig(connection, table, changes);
}

Status LoadConfig(sqlite::Connection& connection, ConfigTable& table, DamageReport& damage) {
  std::vector<ConfigChange> changes;
  const auto mark_level = [&](const PutLimits& put) {
    if (!Check(DeleteLimits{put.level})) return kIsLeftOut;  // its key is unreadable
    table.MarkUnreadable(put.level);
    return kRequestsFail;
  };
  const auto mark_entity = [&](const PutEntity& put) {
    if (!CheckEntityId(put.record.entity.id)) return kIsLeftOut;  // no request can name it
    table.MarkUnreadable(put.record.entity.id);
    return kMayHaveAParent;
  };
  WEIR_RETURN_IF_ERROR(AppendChanges(connection, kEntities, changes, damage, mark_entity));
  WEIR_RETURN_IF_ERROR(AppendChanges(connection, kLevels, changes, damage, mark_level));
  if (table.Apply(changes)) return {};
  // Applies the changes one by one, and leaves out those that are impossible.
  for (const ConfigChange& change : changes) {
    const Status applied = table.Apply({&change, 1});
    if (applied) continue;
    const auto* put = std::get_if<PutLimits>(&change);
    const auto* entity = std::get_if<PutEntity>(&change);
    // Without a cascade, no request is charged to a parent.
    const bool is_harmless = entity != nullptr && !entity->record.entity.cascade;
    const std::string_view consequence = is_harmless      ? kIsLeftOut
                                         : put != nullptr ? mark_level(*put)
                                                          : mark_entity(*entity);
    damage.Note(TableOf(change), fmt::format("{}; {}", applied.error().message, consequence));
  }
  return {};
}

}  // namespace weir
