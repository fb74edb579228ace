#include "weir/rate_limiter_py/account_limit_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/dynamodb/done_chain.h"
#include "weir/rate_limiter_py/integer_attribute.h"
#include "weir/rate_limiter_py/tables.h"
#include "weir/store/reservation/reservation_checks.h"

namespace weir::rate_limiter_py {
namespace {

using dynamo::Expression;
using dynamo::Item;
using dynamo::Of;
using dynamo::Write;

using Keys = std::vector<AccountKey>;
using MaybeRow = std::optional<AccountLimitRow>;

constexpr std::size_t kMaxRows = 100'000;

constexpr WholeRange kLimits{.most = kMaxAccountTokens};
constexpr WholeRange kWindows{0, kLongestWindow.count()};

std::string TextOr(const Item& item, std::string_view attribute) {
  const std::string* text = dynamo::GetText(item, attribute);
  return text == nullptr ? "" : *text;
}

// Requires that an attribute still has the value `seen`. An absent attribute has the value `none`.
template <class T>
void RequireSeen(Expression& e, std::string_view attribute, const T& seen, const T& none) {
  if (seen != none) {
    e.RequireEqual(attribute, Of(seen));
    return;
  }
  e.Require(
      fmt::format("(attribute_not_exists({0}) OR {0} = {1})", e.Name(attribute), e.Of(Of(none))));
}

void RequireRow(Expression& e, const AccountLimitRow& seen) {
  e.Require(kLimit, "=", seen.limit.limit);
  RequireSeen<std::int64_t>(e, kWindowSec, seen.limit.window.count(), 0);
  RequireSeen<std::string>(e, kServiceName, seen.service, "");
}

Write WriteOf(const PutAccountLimit& put) {
  Write write{.kind = Write::Kind::kUpdate, .key = TableKeyOf(put.row.key), .item = {}};
  Expression& e = write.expression;
  e.Set(kLimit, Of(put.row.limit.limit)).Set(kWindowSec, Of(put.row.limit.window.count()));
  if (put.row.service.empty()) {
    e.Remove(kServiceName);
  } else {
    e.Set(kServiceName, Of(put.row.service));
  }
  if (put.seen) {
    RequireRow(e, *put.seen);
  } else {
    e.RequireAbsent(kResourceName);
  }
  return write;
}

Write WriteOf(const DeleteAccountLimit& change) {
  Write write{.kind = Write::Kind::kDelete, .key = TableKeyOf(change.seen.key), .item = {}};
  RequireRow(write.expression, change.seen);
  return write;
}

const AccountKey& KeyOf(const PutAccountLimit& put) { return put.row.key; }
const AccountKey& KeyOf(const DeleteAccountLimit& change) { return change.seen.key; }

MaybeRow RowOf(const PutAccountLimit& put) { return put.row; }
MaybeRow RowOf(const DeleteAccountLimit&) { return std::nullopt; }

// Returns OK if a failed condition means that the change was made already, by an attempt whose
// response was lost.
Status ResolveFailedCondition(const AccountKey& key, const std::optional<Item>& old_item,
                              const MaybeRow& wished) {
  MaybeRow found;
  if (old_item) {
    auto row = ReadRow(*old_item);
    if (!row) return Fail(std::move(row.error()));
    found = *std::move(row);
  }
  if (found == wished) return {};
  return Fail(
      Code::kAborted,
      fmt::format("limit of {}: another process has changed it; read it again", Describe(key)));
}

AccountKey AccountKeyOf(const Item& item) {
  return {TextOr(item, kResourceName), TextOr(item, kAccountId)};
}

Keys KeysOf(const std::vector<Item>& items) {
  Keys keys;
  keys.reserve(items.size());
  std::ranges::transform(items, std::back_inserter(keys),
                         [](const Item& item) { return AccountKeyOf(item); });
  std::ranges::sort(keys);
  return keys;
}

}  // namespace

Result<AccountLimitRow> ReadRow(const Item& item) {
  AccountLimitRow row{.key = AccountKeyOf(item), .service = TextOr(item, kServiceName)};
  const std::string name = fmt::format("limit of {}", Describe(row.key));
  WEIR_ASSIGN_OR_RETURN(const auto limit, ReadWhole(item, kLimit, name, kLimits));
  WEIR_ASSIGN_OR_RETURN(const auto window, ReadWhole(item, kWindowSec, name, kWindows));
  if (!limit) return Fail(UnusableAttribute(item, kLimit, name, "a whole number"));
  if (item.contains(kServiceName) && row.service.empty()) {
    return Fail(UnusableAttribute(item, kServiceName, name, "a text, or nothing"));
  }
  row.limit = {.limit = *limit, .window = std::chrono::seconds(window.value_or(0))};
  return row;
}

AccountLimitTable::AccountLimitTable(dynamo::Table& table, std::string service_index)
    : table_(table), service_index_(std::move(service_index)) {}

void AccountLimitTable::Get(const AccountKey& key, Deadline deadline, Done<MaybeRow> done) {
  if (Status valid = Check(key); !valid) return done(Fail(std::move(valid.error())));
  table_.Get(TableKeyOf(key), deadline,
             dynamo::Then<std::optional<Item>>(
                 std::move(done), [](const std::optional<Item>& item, Done<MaybeRow> on_row) {
                   if (!item) return on_row(MaybeRow());
                   auto row = ReadRow(*item);
                   if (!row) return on_row(Fail(std::move(row.error())));
                   on_row(MaybeRow(*std::move(row)));
                 }));
}

void AccountLimitTable::KeysOfService(const std::string& service, Deadline deadline,
                                      Done<Keys> done) {
  if (Status valid = CheckService(service); !valid) return done(Fail(std::move(valid.error())));
  table_.QueryAll({.index = service_index_, .partition = service}, kMaxRows, deadline,
                  dynamo::Then<std::vector<Item>>(
                      std::move(done), [](const std::vector<Item>& items, Done<Keys> then) {
                        then(KeysOf(items));
                      }));
}

void AccountLimitTable::Change(const AccountLimitChange& change, Deadline deadline,
                               Done<void> done) {
  if (Status valid = Check(change); !valid) return done(std::move(valid));
  std::visit(
      [&](const auto& wish) {
        auto on_outcome = [key = KeyOf(wish), wished = RowOf(wish),
                           done = std::move(done)](auto outcome) mutable {
          if (outcome) return done({});
          const dynamo::WriteFailure& failure = outcome.error();
          if (failure.kind != FailureClass::kConditional) return done(Fail(failure.error));
          done(ResolveFailedCondition(key, failure.old_item, wished));
        };
        table_.Apply(WriteOf(wish), true, deadline, std::move(on_outcome));
      },
      change);
}

}  // namespace weir::rate_limiter_py
