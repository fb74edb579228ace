#include "weir/zae_table/records/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/codec/iso_time.h"
#include "weir/dynamodb/done_chain.h"
#include "weir/dynamodb/paging.h"
#include "weir/model/quoted.h"
#include "weir/zae_table/config/config_fields.h"
#include "weir/zae_table/config/config_write.h"
#include "weir/zae_table/records/record_ttl.h"

namespace weir::dynamo {
namespace {

Value ToValue(const AuditDetail& detail);

Item ToParts(const AuditDetail::Parts& parts) {
  Item item;
  for (const auto& [name, part] : parts) item.emplace(name, ToValue(part));
  return item;
}

struct DetailWriter {
  Value operator()(std::monostate) const { return {Null{}}; }
  Value operator()(bool flag) const { return Of(flag); }
  Value operator()(std::int64_t number) const { return Of(number); }
  Value operator()(const std::string& text) const { return Of(text); }
  Value operator()(const AuditDetail::List& details) const {
    List list;
    for (const AuditDetail& detail : details) list.push_back(ToValue(detail));
    return {std::move(list)};
  }
  Value operator()(const AuditDetail::Parts& parts) const { return {ToParts(parts)}; }
};

Value ToValue(const AuditDetail& detail) { return std::visit(DetailWriter{}, detail.value); }

AuditDetail ToDetail(const Value& value);

AuditDetail::Parts ToDetails(const Item& item) {
  AuditDetail::Parts parts;
  for (const auto& [name, value] : item) parts.emplace(name, ToDetail(value));
  return parts;
}

// Numbers that are not whole 64-bit integers, and types that AuditDetail lacks, become text.
struct DetailReader {
  AuditDetail operator()(const Null&) const { return {}; }
  AuditDetail operator()(bool flag) const { return {flag}; }
  AuditDetail operator()(const std::string& text) const { return {text}; }
  AuditDetail operator()(const Number& number) const {
    const std::optional<std::int64_t> whole = GetNumber({{"n", {number}}}, "n");
    if (whole) return {*whole};
    return {number.text};
  }
  AuditDetail operator()(const StringSet& set) const {
    AuditDetail::List list;
    for (const std::string& member : set.members) list.push_back({member});
    return {std::move(list)};
  }
  AuditDetail operator()(const List& values) const {
    AuditDetail::List list;
    for (const Value& value : values) list.push_back(ToDetail(value));
    return {std::move(list)};
  }
  AuditDetail operator()(const Item& item) const { return {ToDetails(item)}; }
  AuditDetail operator()(const Bytes& bytes) const {
    std::string json;
    AppendJson(json, Value{bytes});
    return {std::move(json)};
  }
  AuditDetail operator()(const Opaque& opaque) const { return {opaque.json}; }
};

AuditDetail ToDetail(const Value& value) { return std::visit(DetailReader{}, value.held); }

Value TextOrNull(const std::optional<std::string>& text) {
  return text ? Of(*text) : Value{Null{}};
}

std::optional<std::string> TextIn(const Item& item, std::string_view name) {
  const std::string* text = GetText(item, name);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

}  // namespace

Item AuditItem(const Keys& keys, const AuditEvent& event, std::int64_t retention_days) {
  const TableKey key = keys.AuditEvent(event.subject, event.id);
  Item item = ToItem(key);
  item.emplace("entity_id", Of(event.subject));
  item.emplace("event_id", Of(event.id));
  item.emplace("timestamp", Of(FormatIso(event.at)));
  item.emplace("action", Of(event.action));
  item.emplace("principal", TextOrNull(event.principal));
  item.emplace("resource", TextOrNull(event.resource));
  item.emplace("details", Value{ToParts(event.details)});
  item.emplace("ttl", Of(TtlAfter(event.at, retention_days)));
  item.emplace("GSI4PK", Of(keys.namespace_id()));
  item.emplace("GSI4SK", Of(key.pk));
  return item;
}

Write AuditWrite(const Keys& keys, const AuditEvent& event, std::int64_t retention_days) {
  return {.kind = Write::Kind::kPut,
          .key = {},
          .item = AuditItem(keys, event, retention_days),
          .expression = {}};
}

Result<AuditEvent> ReadAuditEvent(const Item& item) {
  const std::optional<std::string> id = TextIn(item, "event_id");
  const std::optional<std::string> action = TextIn(item, "action");
  const std::optional<std::string> time = TextIn(item, "timestamp");
  const std::optional<UnixMillis> at = time ? ParseIso(*time) : std::nullopt;
  if (!id || !action || !at) {
    return Fail(Code::kDataLoss, fmt::format("audit event {} {}: no id, action or time",
                                             Quoted(KeyOf(item).pk), Quoted(KeyOf(item).sk)));
  }
  const Item* details = GetMap(item, "details");
  return AuditEvent{.id = *id,
                    .subject = TextIn(item, "entity_id").value_or(""),
                    .at = *at,
                    .action = *action,
                    .principal = TextIn(item, "principal"),
                    .resource = TextIn(item, "resource"),
                    .details = details == nullptr ? AuditDetail::Parts{} : ToDetails(*details)};
}

void AuditTrail::Append(const AuditEvent& event, Deadline deadline, Done<void> done) {
  if (Status valid = Check(event); !valid) return done(Fail(std::move(valid.error())));
  GetRetention(
      deadline, Then<std::int64_t>(std::move(done), [this, event, deadline](std::int64_t days,
                                                                            Done<void> next) {
        Write put = AuditWrite(keys_, event, days);
        put.expression.RequireAbsent("PK");
        table_.Apply(
            put, true, deadline,
            [next = std::move(next)](tl::expected<WriteResponse, WriteFailure> result) mutable {
              // The event is stored already: by an attempt of this call whose response was lost, or
              // by an earlier call.
              const bool is_there = !result && result.error().kind == FailureClass::kConditional;
              if (result || is_there) return next({});
              next(Fail(std::move(result.error().error)));
            });
      }));
}

void AuditTrail::List(std::string_view subject, const PageRequest& page, Deadline deadline,
                      Done<Page<AuditEvent>> done) {
  if (Status valid = CheckAuditPage(subject, page); !valid) {
    return done(Fail(std::move(valid.error())));
  }
  PagedQuery<AuditEvent> query;
  query.request.partition = keys_.AuditPartition(subject);
  query.request.sort_prefix = keys_.AuditEvent(subject, "").sk;
  query.request.forward = false;
  query.limit = page.limit;
  query.read = [](const Item& item) -> Result<std::optional<AuditEvent>> {
    return ReadAuditEvent(item);
  };
  query.lists_unreadable = true;
  query.cursor = [](const AuditEvent& last) { return last.id; };
  if (!page.cursor.empty()) {
    query.request.start_after = ToItem(keys_.AuditEvent(subject, page.cursor));
  }
  ReadPage(table_, std::move(query), deadline, std::move(done));
}

std::int64_t RetentionIn(const Item* system) {
  const auto days = system == nullptr ? std::nullopt : GetNumber(*system, kAuditRetention);
  return days && *days > 0 ? std::min(*days, kMaxAuditRetentionDays) : kAuditRetentionDays;
}

void AuditTrail::GetRetention(Deadline deadline, Done<std::int64_t> done) {
  table_.Get(keys_.Config(Level::System()), deadline,
             Then<std::optional<Item>>(
                 std::move(done), [](const std::optional<Item>& config, Done<std::int64_t> next) {
                   next(RetentionIn(config ? &*config : nullptr));
                 }));
}

void AuditTrail::SetRetention(std::int64_t days, const AuditEvent& event, Deadline deadline,
                              Done<void> done) {
  Status valid = CheckRetention(days).and_then([&] { return Check(event); });
  if (!valid) return done(std::move(valid));
  // A repeated attempt has the same token, made of the event's id, so it is applied once.
  table_.TransactPatiently(
      {SetAuditRetention(keys_, days), AuditWrite(keys_, event, days)}, event.id, deadline,
      [done = std::move(done)](tl::expected<WriteResponse, WriteFailure> result) mutable {
        if (result) return done({});
        done(Fail(std::move(result.error().error)));
      });
}

}  // namespace weir::dynamo
