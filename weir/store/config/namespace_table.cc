#include "weir/store/config/namespace_table.h"

#include <utility>

#include "weir/model/identifier.h"
#include "weir/model/namespace_name.h"
#include "weir/store/listing.h"

namespace weir {

Status CheckNamePage(const PageRequest& page) {
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  if (page.cursor.empty() || CheckNamespace(page.cursor)) return {};
  return BadCursor();
}

Status CheckIdPage(const PageRequest& page) {
  WEIR_RETURN_IF_ERROR(CheckLimit(page));
  if (page.cursor.empty() || CheckNamespaceId(page.cursor)) return {};
  return BadCursor();
}

Namespace NamespaceTable::Register(Namespace wanted) {
  if (const auto found = Get(wanted.name)) return *found;
  wanted.status = NamespaceStatus::kActive;
  wanted.deleted_at.reset();
  Load(wanted);
  return wanted;
}

std::optional<Namespace> NamespaceTable::Get(std::string_view name) const {
  const auto found = id_by_name_.find(name);
  return found == id_by_name_.end() ? std::nullopt : GetById(found->second);
}

std::optional<Namespace> NamespaceTable::GetById(std::string_view id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second;
}

Result<Page<Namespace>> NamespaceTable::List(const PageRequest& page) const {
  WEIR_RETURN_IF_ERROR(CheckNamePage(page));
  Page<Namespace> found;
  for (auto at = id_by_name_.upper_bound(page.cursor); at != id_by_name_.end(); ++at) {
    if (found.items.size() == page.limit) {
      found.next = found.items.back().name;
      break;
    }
    found.items.push_back(by_id_.find(at->second)->second);
  }
  return found;
}

Result<Namespace> NamespaceTable::Delete(std::string_view name, UnixMillis now) {
  const auto found = id_by_name_.find(name);
  if (found == id_by_name_.end()) {
    return OrRecoverable(NoNamespaceToDelete(name).value(), name, AllOrphans());
  }
  Namespace& space = by_id_.find(found->second)->second;
  space.status = NamespaceStatus::kDeleted;
  space.deleted_at = now;
  id_by_name_.erase(found);
  return space;
}

Result<Namespace> NamespaceTable::Recover(std::string_view id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return UnknownNamespaceId(id);
  Namespace& space = found->second;
  if (space.status == NamespaceStatus::kPurging) {
    return UnfitNamespace(space, "is being purged for good");
  }
  if (space.status == NamespaceStatus::kActive) {
    return UnfitNamespace(space, "is active: there is nothing to recover");
  }
  if (const auto other = id_by_name_.find(space.name); other != id_by_name_.end()) {
    return NameIsTaken(space, other->second);
  }
  space.status = NamespaceStatus::kActive;
  space.deleted_at.reset();
  id_by_name_.emplace(space.name, space.id);
  return space;
}

Result<Page<Namespace>> NamespaceTable::Orphans(const PageRequest& page) const {
  WEIR_RETURN_IF_ERROR(CheckIdPage(page));
  Page<Namespace> found;
  for (auto at = by_id_.upper_bound(page.cursor); at != by_id_.end(); ++at) {
    if (at->second.status == NamespaceStatus::kActive) continue;
    if (found.items.size() == page.limit) {
      found.next = found.items.back().id;
      break;
    }
    found.items.push_back(at->second);
  }
  return found;
}

std::vector<Namespace> NamespaceTable::AllOrphans() const {
  std::vector<Namespace> orphans;
  for (const auto& [id, space] : by_id_) {
    if (space.status != NamespaceStatus::kActive) orphans.push_back(space);
  }
  return orphans;
}

Result<std::string> NamespaceTable::Resolve(std::string_view name_or_id) const {
  WEIR_RETURN_IF_ERROR(CheckNameOrId(name_or_id));
  if (const auto id = ParseIdReference(name_or_id)) return ResolveId(*id, GetById(*id));
  const auto found = id_by_name_.find(name_or_id);
  if (found == id_by_name_.end()) {
    return OrRecoverable(NotRegistered(name_or_id).value(), name_or_id, AllOrphans());
  }
  return found->second;
}

Result<Namespace> NamespaceTable::BeginPurge(std::string_view id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return UnknownNamespaceId(id);
  Namespace& space = found->second;
  if (space.status == NamespaceStatus::kActive) return NotYetDeleted(space);
  space.status = NamespaceStatus::kPurging;
  return space;
}

void NamespaceTable::EndPurge(std::string_view id) {
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) by_id_.erase(found);
}

void NamespaceTable::Load(Namespace space) {
  if (space.status == NamespaceStatus::kActive) id_by_name_.insert_or_assign(space.name, space.id);
  std::string id = space.id;
  by_id_.insert_or_assign(std::move(id), std::move(space));
}

}  // namespace weir
