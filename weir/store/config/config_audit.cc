#include "weir/store/config/config_audit.h"

#include <utility>

#include "weir/model/identifier.h"

namespace weir {
namespace {

using Parts = AuditDetail::Parts;

AuditDetail Text(std::string text) { return {std::move(text)}; }

// Returns an integer, as zae-limiter does, if the number is whole; otherwise a decimal number as
// text.
AuditDetail FromThousandths(std::int64_t thousandths) {
  if (thousandths % 1000 == 0) return {thousandths / 1000};
  return Text(FormatTokens(thousandths));
}

AuditDetail DetailOf(const Limit& limit) {
  Parts parts{{"name", Text(limit.name)},
              {"capacity", FromThousandths(limit.quota.capacity)},
              {"refill_amount", FromThousandths(limit.quota.amount)},
              {"refill_period_seconds", FromThousandths(limit.quota.period)}};
  if (limit.allowance > milliseconds(0)) {
    parts.emplace("allowance_seconds", FromThousandths(limit.allowance.count()));
  }
  return {std::move(parts)};
}

AuditEvent OnLevel(const Level& level, std::string_view action) {
  AuditEvent event;
  event.action = action;
  switch (level.kind) {
    case Level::Kind::kSystem:
      event.subject = kSystemSubject;
      break;
    case Level::Kind::kResource:
      event.subject = ResourceSubject(level.resource);
      event.resource = level.resource;
      break;
    case Level::Kind::kEntityDefault:
      event.subject = level.entity;
      event.resource = std::string(kDefaultResource);
      break;
    case Level::Kind::kEntity:
      event.subject = level.entity;
      event.resource = level.resource;
      break;
  }
  return event;
}

AuditEvent OnEntity(const std::string& id, std::string_view action) {
  AuditEvent event;
  event.subject = id;
  event.action = action;
  return event;
}

AuditDetail ParentOf(const Entity& entity) {
  return entity.parent ? Text(*entity.parent) : AuditDetail{};
}

AuditEvent Created(const Entity& entity) {
  AuditEvent event = OnEntity(entity.id, audit_action::kEntityCreated);
  Parts metadata;
  for (const auto& [name, value] : entity.metadata) metadata.emplace(name, Text(value));
  event.details = {{"name", Text(entity.name)},
                   {"parent_id", ParentOf(entity)},
                   {"cascade", {entity.cascade}},
                   {"metadata", {std::move(metadata)}}};
  return event;
}

struct EventBuilder {
  const std::optional<EntityRecord>& before;

  std::optional<AuditEvent> operator()(const PutLimits& put) const {
    AuditEvent event = OnLevel(put.level, audit_action::kLimitsSet);
    AuditDetail::List limits;
    for (const Limit& limit : put.limits.limits) limits.push_back(DetailOf(limit));
    event.details.emplace("limits", AuditDetail{std::move(limits)});
    if (put.limits.on_unavailable) {
      const bool allow = *put.limits.on_unavailable == OnUnavailable::kAllow;
      event.details.emplace("on_unavailable", Text(allow ? "allow" : "block"));
    }
    return event;
  }
  std::optional<AuditEvent> operator()(const DeleteLimits& change) const {
    return OnLevel(change.level, audit_action::kLimitsDeleted);
  }
  std::optional<AuditEvent> operator()(const CreateEntity& change) const {
    return Created(change.record.entity);
  }
  std::optional<AuditEvent> operator()(const PutEntity& put) const {
    const Entity& entity = put.record.entity;
    if (!before) return Created(entity);
    if (before->entity.parent == entity.parent) return std::nullopt;
    AuditEvent event = OnEntity(entity.id, audit_action::kEntityParentChanged);
    event.details = {{"old_parent_id", ParentOf(before->entity)},
                     {"new_parent_id", ParentOf(entity)}};
    return event;
  }
  std::optional<AuditEvent> operator()(const DeleteEntity& change) const {
    return OnEntity(change.id, audit_action::kEntityDeleted);
  }
};

}  // namespace

std::optional<AuditEvent> EventOf(const ConfigChange& change,
                                  const std::optional<EntityRecord>& before) {
  return std::visit(EventBuilder{before}, change);
}

AuditEvent RetentionEvent(std::int64_t before, std::int64_t days) {
  AuditEvent event = OnLevel(Level::System(), audit_action::kRetentionSet);
  event.details = {{"old_days", {before}}, {"new_days", {days}}};
  return event;
}

void AuditStamp::Put(std::vector<AuditEvent>& events, UnixMillis now) {
  for (AuditEvent& event : events) {
    event.at = now;
    if (!event.principal) event.principal = principal_;
    event.id = ids_.Next(now, {static_cast<std::uint16_t>(random_.Next()), random_.Next()});
  }
}

}  // namespace weir
