#include "weir/dynamodb/streams/lease_table.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "weir/dynamodb/streams/sequence_number.h"

namespace weir::dynamo {
namespace {

using At = ShardPosition::At;

constexpr std::size_t kMaxLeases = 100'000;
constexpr std::string_view kVersion = "lease_version";

constexpr std::array<std::pair<At, std::string_view>, 5> kPositions = {
    {{At::kTrimHorizon, "horizon"},
     {At::kLatest, "latest"},
     {At::kAt, "at"},
     {At::kAfter, "after"},
     {At::kEnd, "end"}}};

std::string_view NameOf(At at) {
  for (const auto& [value, name] : kPositions) {
    if (value == at) return name;
  }
  return "";
}

std::optional<At> ReadAt(std::string_view text) {
  for (const auto& [value, name] : kPositions) {
    if (name == text) return value;
  }
  return std::nullopt;
}

// Greater values count as damaged: no process writes them. A longer term would block the shard of a
// process that is gone, and the epoch and the version must be able to grow by one.
constexpr std::int64_t kLongestTerm = 3'600'000;
constexpr std::int64_t kMaxCount = INT64_MAX - 1;

std::string TextOrEmpty(const Item& item, std::string_view name) {
  const std::string* text = GetText(item, name);
  return text == nullptr ? "" : *text;
}

/// Returns the normalized number; empty if it is missing and the position is not that of a record.
/// Returns nothing if the number is damaged, or missing from the position of a record.
std::optional<std::string> ReadSequenceOf(At at, const Item& item) {
  const bool is_optional = at != At::kAt && at != At::kAfter;
  if (is_optional && !item.contains("sequence_number")) return "";
  return NormalizeSequenceNumber(TextOrEmpty(item, "sequence_number"));
}

StoredLeases ReadLeases(const std::vector<Item>& items, const IndexLayout& keys) {
  StoredLeases stored;
  for (const Item& item : items) {
    const TableKey key = KeyOf(item, keys);
    auto lease = ReadLease(key.sk, item);
    if (lease) {
      stored.leases.push_back(*std::move(lease));
      continue;
    }
    lease.error().message += fmt::format(" (the item with the keys '{}' and '{}')", key.pk, key.sk);
    stored.damaged.push_back({key.sk, std::move(lease.error())});
  }
  return stored;
}

Result<LeaseResult> ReadLeaseFailure(const std::string& shard, WriteFailure failure) {
  if (failure.kind != FailureClass::kConditional) return Fail(std::move(failure.error));
  if (!failure.old_item) return LeaseResult{};
  WEIR_ASSIGN_OR_RETURN(ShardLease current, ReadLease(shard, *failure.old_item));
  return LeaseResult{.applied = false, .current = std::move(current)};
}

}  // namespace

Item ToLeaseItem(const ShardLease& lease) {
  Item item;
  item["lease_epoch"] = Of(static_cast<std::int64_t>(lease.epoch));
  item[std::string(kVersion)] = Of(static_cast<std::int64_t>(lease.version));
  item["lease_term"] = Of(std::int64_t{lease.term.count()});
  item["position"] = Of(NameOf(lease.position.at));
  if (!lease.owner.empty()) item["lease_owner"] = Of(lease.owner);
  if (!lease.parent.empty()) item["parent"] = Of(lease.parent);
  if (!lease.wanted_by.empty()) item["lease_wanted_by"] = Of(lease.wanted_by);
  if (!lease.position.sequence_number.empty()) {
    item["sequence_number"] = Of(lease.position.sequence_number);
  }
  if (lease.position.created) item["created"] = Of(lease.position.created->value);
  return item;
}

Result<ShardLease> ReadLease(std::string_view shard, const Item& item) {
  const auto damaged = [&](std::string_view name) {
    return Fail(Code::kDataLoss, fmt::format("lease of {}: {} is missing or has another form; "
                                             "delete the item to read the shard again",
                                             shard, name));
  };
  const auto epoch = GetNumber(item, "lease_epoch");
  const auto version = GetNumber(item, kVersion);
  const auto term = GetNumber(item, "lease_term");
  const auto at = ReadAt(TextOrEmpty(item, "position"));
  if (!epoch || *epoch < 0 || *epoch > kMaxCount) return damaged("lease_epoch");
  if (!version || *version < 1 || *version > kMaxCount) return damaged(kVersion);
  if (!term || *term < 0 || *term > kLongestTerm) return damaged("lease_term");
  if (!at) return damaged("position");
  auto sequence = ReadSequenceOf(*at, item);
  if (!sequence) return damaged("sequence_number");
  ShardLease lease{.shard = std::string(shard),
                   .owner = TextOrEmpty(item, "lease_owner"),
                   .epoch = static_cast<std::uint64_t>(*epoch),
                   .version = static_cast<std::uint64_t>(*version),
                   .term = milliseconds(*term),
                   .parent = TextOrEmpty(item, "parent"),
                   .wanted_by = TextOrEmpty(item, "lease_wanted_by"),
                   .position = {*at, *std::move(sequence)}};
  if (const auto created = GetNumber(item, "created")) lease.position.created = {*created};
  return lease;
}

LeaseTable::LeaseTable(Table& table, std::string partition)
    : table_(table), partition_(std::move(partition)) {}

void LeaseTable::ReadAll(Deadline deadline, Done<StoredLeases> done) {
  table_.QueryAll({.partition = partition_}, kMaxLeases, deadline,
                  [this, done = std::move(done)](Result<std::vector<Item>> items) mutable {
                    if (!items) return done(Fail(std::move(items.error())));
                    done(ReadLeases(*items, table_.layout().keys));
                  });
}

void LeaseTable::Write(const LeaseWrite& write, Deadline deadline, Done<LeaseResult> done) {
  const TableKey key{partition_, write.lease.shard};
  dynamo::Write request{.kind = write.remove ? dynamo::Write::Kind::kDelete
                                             : dynamo::Write::Kind::kPut};
  request.key = key;
  if (!write.remove) {
    request.item = ToItem(key, table_.layout().keys);
    request.item.merge(ToLeaseItem(write.lease));
  }
  if (write.expected == 0) {
    request.expression.RequireAbsent(kVersion);
  } else {
    request.expression.RequireEqual(kVersion, Of(static_cast<std::int64_t>(write.expected)));
  }
  table_.Apply(request, false, deadline,
               [shard = write.lease.shard, done = std::move(done)](
                   tl::expected<WriteResponse, WriteFailure> response) mutable {
                 if (response) return done(LeaseResult{.applied = true});
                 done(ReadLeaseFailure(shard, std::move(response.error())));
               });
}

}  // namespace weir::dynamo
