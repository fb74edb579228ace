#include "weir/store/config/config_transaction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "weir/model/entity.h"
#include "weir/store/config/config_audit.h"

namespace weir {
namespace {

Status NotFound(const ConfigChange& change, std::string_view what) {
  return Fail(Code::kNotFound, fmt::format("{}: {}", Describe(change), what));
}

Error InList(Error error, std::size_t index, std::size_t count) {
  error.message = fmt::format("change {} of {}, {}", index + 1, count, error.message);
  return error;
}

std::string Show(std::span<const std::string> cycle) {
  const std::size_t shown = std::min(cycle.size(), kMaxCascade);
  return fmt::format("{}{} -> {}", fmt::join(cycle.first(shown), " -> "),
                     shown < cycle.size() ? " -> ..." : "", cycle.front());
}

}  // namespace

// Restores the old values in reverse order, so that the first value of an item that changed twice
// is restored last.
ConfigTransaction::~ConfigTransaction() {
  for (auto old = undo_.rbegin(); old != undo_.rend(); ++old) {
    std::visit([&](auto& was) { table_.Exchange(was.key, std::move(was.value)); }, *old);
  }
}

void ConfigTransaction::Commit() {
  for (const auto& old : undo_) {
    if (const auto* limits = std::get_if<OldLimits>(&old)) table_.unreadable_.erase(limits->key);
    if (const auto* entity = std::get_if<OldEntity>(&old)) {
      table_.unreadable_entities_.erase(entity->key);
    }
  }
  undo_.clear();
}

Status ConfigTransaction::Make(std::span<const ConfigChange> changes,
                               std::vector<AuditEvent>* events) {
  for (index_ = 0; index_ < changes.size(); ++index_) {
    const ConfigChange& change = changes[index_];
    if (events != nullptr) {
      if (auto event = EventOf(change, EntityBefore(change))) events->push_back(*std::move(event));
    }
    Status status = Check(change);
    if (status) status = std::visit([&](const auto& one) { return MakeOne(one); }, change);
    if (!status) return Fail(InList(std::move(status.error()), index_, changes.size()));
  }
  return CheckParents(changes.size());
}

std::optional<EntityRecord> ConfigTransaction::EntityBefore(const ConfigChange& change) const {
  const auto* put = std::get_if<PutEntity>(&change);
  return put == nullptr ? std::nullopt : table_.GetEntity(put->record.entity.id);
}

Status ConfigTransaction::MakeOne(const PutLimits& put) {
  Set(put.level, put.limits);
  return {};
}

Status ConfigTransaction::MakeOne(const DeleteLimits& change) {
  const bool exists =
      table_.limits_.contains(change.level) || table_.unreadable_.contains(change.level);
  if (!exists) return NotFound(change, "nothing is set there");
  Set(change.level, std::nullopt);
  return {};
}

Status ConfigTransaction::MakeOne(const CreateEntity& create) {
  if (table_.entities_.contains(create.record.entity.id)) {
    return Fail(Code::kAlreadyExists, Describe(ConfigChange(create)) + ": it exists already");
  }
  return MakeOne(PutEntity{create.record});
}

Status ConfigTransaction::MakeOne(const PutEntity& put) {
  EntityRecord record = put.record;
  Entity& entity = record.entity;
  if (entity.name.empty()) entity.name = entity.id;
  if (const auto old = table_.GetEntity(entity.id)) entity.created_at = old->entity.created_at;
  Set(put.record.entity.id, std::move(record));
  return {};
}

Status ConfigTransaction::MakeOne(const DeleteEntity& change) {
  const std::vector<Level> levels = table_.LevelsOf(change.id);
  const bool exists =
      table_.entities_.contains(change.id) || table_.unreadable_entities_.contains(change.id);
  if (!exists && levels.empty() && !(has_buckets_ && has_buckets_(change.id))) {
    return NotFound(change, "it has no entry, no limits and no buckets");
  }
  for (const Level& level : levels) Set(level, std::nullopt);
  Set(change.id, std::nullopt);
  return {};
}

void ConfigTransaction::Set(const Level& level, std::optional<LevelLimits> value) {
  undo_.emplace_back(OldLimits{level, table_.Exchange(level, std::move(value))});
}

void ConfigTransaction::Set(const std::string& id, std::optional<EntityRecord> value) {
  if (value && value->entity.parent) set_parent_[id] = index_;
  undo_.emplace_back(OldEntity{id, table_.Exchange(id, std::move(value))});
}

// There was no cycle before the transaction, so a new cycle contains an entity whose parent the
// transaction set. Only the chains of parents that begin at such entities are searched. If a chain
// has no cycle, its entities are `sound`, and later searches end at them.
Status ConfigTransaction::CheckParents(std::size_t count) const {
  std::set<std::string> sound;
  for (const auto& [id, index] : set_parent_) {
    const std::vector<std::string> chain = ParentsFrom(id, sound);
    const auto first = std::ranges::find(chain, chain.back());
    if (first + 1 != chain.end()) return Fail(CycleError({first, chain.end() - 1}, count));
    sound.insert(chain.begin(), chain.end());
  }
  return {};
}

std::vector<std::string> ConfigTransaction::ParentsFrom(const std::string& id,
                                                        const std::set<std::string>& sound) const {
  std::vector<std::string> chain = {id};
  std::set<std::string> seen = {id};
  while (!sound.contains(chain.back())) {
    const auto found = table_.entities_.find(chain.back());
    if (found == table_.entities_.end() || !found->second.entity.parent) break;
    chain.push_back(*found->second.entity.parent);
    if (!seen.insert(chain.back()).second) break;
  }
  return chain;
}

Error ConfigTransaction::CycleError(std::vector<std::string> cycle, std::size_t count) const {
  // Returns 0 for members whose parent this transaction did not set. Of the other members, the one
  // that changed last closed the cycle.
  const auto change_number = [&](const std::string& member) {
    const auto found = set_parent_.find(member);
    return found == set_parent_.end() ? 0 : found->second + 1;
  };
  const auto closing = std::ranges::max_element(cycle, {}, change_number);
  const std::size_t index = change_number(*closing) - 1;
  std::ranges::rotate(cycle, closing);
  Error error{Code::kFailedPrecondition,
              fmt::format("entity {}: its parents lead back to it: {}; give one of these entities "
                          "another parent",
                          cycle.front(), Show(cycle))};
  return InList(std::move(error), index, count);
}

}  // namespace weir
