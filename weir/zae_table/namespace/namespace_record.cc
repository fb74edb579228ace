#include "weir/zae_table/namespace/namespace_record.h"

#include <fmt/format.h>

#include "weir/codec/iso_time.h"
#include "weir/model/quoted.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

std::optional<NamespaceStatus> StatusNamed(std::string_view name) {
  for (const NamespaceStatus status :
       {NamespaceStatus::kActive, NamespaceStatus::kDeleted, NamespaceStatus::kPurging}) {
    if (Name(status) == name) return status;
  }
  return std::nullopt;
}

std::optional<UnixMillis> TimeIn(const Item& record, std::string_view name) {
  const std::string* text = GetText(record, name);
  return text == nullptr ? std::nullopt : ParseIso(*text);
}

Item RecordAt(const TableKey& key, const Namespace& space) {
  Item record = ToItem(key);
  record.emplace("namespace_id", Of(space.id));
  record.emplace("namespace_name", Of(space.name));
  record.emplace("status", Of(Name(space.status)));
  record.emplace("created_at", Of(FormatIso(space.created_at)));
  record.emplace("GSI4PK", Of(kTableNamespace));
  record.emplace("GSI4SK", Of(key.pk));
  return record;
}

Write PutIfAbsent(Item record) {
  Write put{.kind = Write::Kind::kPut, .key = {}, .item = std::move(record), .expression = {}};
  put.expression.RequireAbsent("PK");
  return put;
}

// An update of the reverse record, on the condition that its status is as it was read.
Write Update(const Namespace& reverse) {
  Write update{.kind = Write::Kind::kUpdate,
               .key = NamespaceReverse(reverse.id),
               .item = {},
               .expression = {}};
  update.expression.RequireEqual("status", Of(Name(reverse.status)));
  return update;
}

// Requires that the name does not lead to this id: the name is free, or leads to another id.
void RequireOtherId(Expression& expression, std::string_view id) {
  const std::string pk = expression.Name("PK");
  const std::string held = expression.Name("namespace_id");
  expression.Require(
      fmt::format("(attribute_not_exists({}) OR {} <> {})", pk, held, expression.Of(Of(id))));
}

}  // namespace

Result<Namespace> ReadNamespace(const Item& record) {
  const std::string* id = GetText(record, "namespace_id");
  const std::string* name = GetText(record, "namespace_name");
  const std::string* status = GetText(record, "status");
  const auto known = status == nullptr ? std::nullopt : StatusNamed(*status);
  if (id == nullptr || name == nullptr || !known) {
    return Fail(Code::kDataLoss, fmt::format("namespace record {}: no id, name or known status",
                                             Quoted(KeyOf(record).sk)));
  }
  return Namespace{.id = *id,
                   .name = *name,
                   .status = *known,
                   .created_at = TimeIn(record, "created_at").value_or(UnixMillis{}),
                   .deleted_at = TimeIn(record, "deleted_at")};
}

Item ForwardRecord(const Namespace& space) { return RecordAt(NamespaceForward(space.name), space); }

Item ReverseRecord(const Namespace& space) { return RecordAt(NamespaceReverse(space.id), space); }

std::vector<Write> RegisterWrites(const Namespace& space) {
  return {PutIfAbsent(ForwardRecord(space)), PutIfAbsent(ReverseRecord(space))};
}

std::vector<Write> DeleteWrites(const NamespaceRecords& records, UnixMillis now) {
  Write forward{.kind = Write::Kind::kDelete,
                .key = NamespaceForward(records.forward->name),
                .item = {},
                .expression = {}};
  forward.expression.RequireEqual("namespace_id", Of(records.forward->id));
  // A namespace must not become recoverable once a purge has begun to delete its data.
  if (records.reverse->status == NamespaceStatus::kPurging) return {std::move(forward)};
  Write reverse = Update(*records.reverse);
  reverse.expression.Set("status", Of(Name(NamespaceStatus::kDeleted)));
  reverse.expression.Set("deleted_at", Of(FormatIso(now)));
  return {std::move(forward), std::move(reverse)};
}

std::vector<Write> RecoverWrites(const NamespaceRecords& records) {
  Namespace space = *records.reverse;
  space.status = NamespaceStatus::kActive;
  Write reverse = Update(*records.reverse);
  reverse.expression.Set("status", Of(Name(space.status)));
  reverse.expression.Remove("deleted_at");
  if (records.resolves()) {
    // The name resolves although the id is not active, as if a recovery had been interrupted. The
    // records were read one after the other, so other processes may have changed them in between.
    // The check detects that.
    Write forward{.kind = Write::Kind::kCheck,
                  .key = NamespaceForward(space.name),
                  .item = {},
                  .expression = {}};
    forward.expression.RequireEqual("namespace_id", Of(space.id));
    return {std::move(forward), std::move(reverse)};
  }
  return {PutIfAbsent(ForwardRecord(space)), std::move(reverse)};
}

std::vector<Write> BeginPurgeWrites(const NamespaceRecords& records) {
  const Namespace& space = *records.reverse;
  Write forward{.kind = Write::Kind::kCheck,
                .key = NamespaceForward(space.name),
                .item = {},
                .expression = {}};
  RequireOtherId(forward.expression, space.id);
  Write reverse = Update(space);
  reverse.expression.Set("status", Of(Name(NamespaceStatus::kPurging)));
  return {std::move(forward), std::move(reverse)};
}

Write EndPurgeWrite(std::string_view id) {
  Write end{
      .kind = Write::Kind::kDelete, .key = NamespaceReverse(id), .item = {}, .expression = {}};
  end.expression.RequireEqual("status", Of(Name(NamespaceStatus::kPurging)));
  return end;
}

}  // namespace weir::dynamo
