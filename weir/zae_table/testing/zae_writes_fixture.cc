#include "weir/zae_table/testing/zae_writes_fixture.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/zae_table/bucket/bucket_image.h"

namespace weir::dynamo {
namespace {

constexpr std::int64_t kOneWrite = 1'000;

std::int64_t RefilledAt(const Item& item) { return GetNumber(item, "rf").value_or(0); }

Write UpdateOf(const ZaePass& pass, const BucketKey& key) {
  return {.kind = Write::Kind::kUpdate,
          .key = pass.keys.Bucket(key),
          .item = {},
          .expression = {},
          .want_new = true};
}

BucketKey ShardKey(const Charge& charge) {
  BucketKey key = charge.target->key;
  key.shard = charge.shard;
  return key;
}

void Take(Expression& e, const std::string& limit, std::int64_t amount) {
  e.Add(LimitAttribute(limit, "tk"), -amount);
  e.Add(LimitAttribute(limit, "tc"), amount);
}

void SetParameters(Expression& e, const Limit& limit) {
  e.Set(LimitAttribute(limit.name, "cp"), Of(limit.quota.capacity));
  e.Set(LimitAttribute(limit.name, "ra"), Of(limit.quota.amount));
  e.Set(LimitAttribute(limit.name, "rp"), Of(limit.quota.period));
}

// Requires a numeric attribute to be as it is in `item`: equal, or absent.
void RequireAsRead(Expression& e, const Item& item, const std::string& attribute) {
  const auto value = GetNumber(item, attribute);
  e.RequireSame(attribute, value ? std::optional(Of(*value)) : std::nullopt);
}

void Seed(Expression& e, const Limit& limit, std::int64_t share, std::int64_t amount) {
  const std::string tokens = LimitAttribute(limit.name, "tk");
  const std::string capacity = LimitAttribute(limit.name, "cp");
  e.Require(fmt::format("(attribute_not_exists({}) OR attribute_not_exists({}))", e.Name(capacity),
                        e.Name(tokens)));
  SetParameters(e, limit);
  e.Set(tokens, Of(share - amount));
  e.Set(LimitAttribute(limit.name, "tc"), Of(amount));
}

// Returns false if the refilled balance does not pay.
bool RefillAndTake(Expression& e, const std::string& limit, const ZaeMeter& meter,
                   std::int64_t refill, std::int64_t amount) {
  const std::string tokens = LimitAttribute(limit, "tk");
  if (amount > 0 && meter.tokens + refill < amount) return false;
  if (refill > 0) e.Require(tokens, "<=", meter.tokens);
  if (amount > refill && amount > 0) e.Require(tokens, ">=", amount - refill);
  if (refill != amount) e.Add(tokens, refill - amount);
  if (amount != 0) e.Add(LimitAttribute(limit, "tc"), amount);
  return true;
}

void AddMeterTo(Item& item, const std::string& limit, const Quota& quota, std::int64_t tokens,
                std::int64_t consumed) {
  item.emplace(LimitAttribute(limit, "tk"), Of(tokens));
  item.emplace(LimitAttribute(limit, "tc"), Of(consumed));
  item.emplace(LimitAttribute(limit, "cp"), Of(quota.capacity));
  item.emplace(LimitAttribute(limit, "ra"), Of(quota.amount));
  item.emplace(LimitAttribute(limit, "rp"), Of(quota.period));
}

}  // namespace

Write ZaeSpeculative(const ZaePass& pass, const Charge& charge) {
  Write write = UpdateOf(pass, ShardKey(charge));
  Expression& e = write.expression;
  e.RequireExists("PK");
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const std::string& limit = charge.target->limits[i].name;
    if (charge.amounts[i] == 0) continue;
    Take(e, limit, charge.amounts[i]);
    e.Require(LimitAttribute(limit, "tk"), ">=", charge.amounts[i]);
    e.RequireAbsent(LimitAttribute(limit, "soft"));
  }
  e.RequireAbsent("bypass");
  Take(e, std::string(kWriteLimit), kOneWrite);
  e.Require("b_wcu_tk", ">=", kOneWrite);
  e.Require(fmt::format("(attribute_not_exists({0}) OR {0} > {1})", e.Name("ttl"),
                        e.Of(Of(pass.now.value / 1000))));
  e.RequireAbsent("disabled");
  e.Require(fmt::format("(attribute_not_exists({0}) OR {0} > {1})", e.Name("vu"),
                        e.Of(Of(pass.now.value))));
  return write;
}

std::optional<Write> ZaeNormal(const ZaePass& pass, const Charge& charge, const Item& item) {
  Write write = UpdateOf(pass, ShardKey(charge));
  Expression& e = write.expression;
  const std::int64_t shards = ZaeShards(item);
  e.RequireEqual("rf", Of(RefilledAt(item)));
  RequireAsRead(e, item, "vu");
  e.Set("rf", Of(std::max(pass.now.value, RefilledAt(item))));
  if (item.contains("vu")) e.Remove("vu");
  if (item.contains("ttl")) e.Remove("ttl");
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const Limit& limit = charge.target->limits[i];
    const auto meter = ReadZaeMeter(item, limit.name);
    const std::int64_t amount = charge.amounts[i];
    if (!meter) {
      const std::int64_t share = limit.quota.capacity / shards;
      if (share < amount) return std::nullopt;
      Seed(e, limit, share, amount);
      continue;
    }
    const std::int64_t refill = ZaeRefillUntil(item, *meter, pass.now);
    if (!RefillAndTake(e, limit.name, *meter, refill, amount)) return std::nullopt;
  }
  if (const auto writes = ReadZaeMeter(item, kWriteLimit)) {
    const std::int64_t refill = ZaeRefillUntil(item, *writes, pass.now);
    RefillAndTake(e, std::string(kWriteLimit), *writes, refill, 0);
  }
  return write;
}

Write ZaeCreate(const ZaePass& pass, const Charge& charge, std::int64_t shards) {
  Write write{.kind = Write::Kind::kPut, .key = {}, .item = {}, .expression = {}};
  const BucketKey key = ShardKey(charge);
  Item& item = write.item;
  item = pass.keys.BucketIndexes(key);
  item.emplace("entity_id", Of(key.entity));
  item.emplace("resource", Of(key.resource));
  item.emplace("rf", Of(pass.now.value));
  item.emplace("shard_count", Of(shards));
  item.emplace("cascade", Of(false));
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const Limit& limit = charge.target->limits[i];
    const std::int64_t amount = charge.amounts[i];
    AddMeterTo(item, limit.name, limit.quota, limit.quota.capacity / shards - amount, amount);
  }
  AddMeterTo(item, std::string(kWriteLimit), WriteQuota(pass.write_capacity), pass.write_capacity,
             0);
  write.expression.RequireAbsent("PK");
  return write;
}

Write ZaeOwnerCheck(const ZaePass& pass, const BucketKey& key) {
  Write check{.kind = Write::Kind::kCheck, .key = pass.keys.Entity(key.entity)};
  check.expression.RequireAbsent("PK");
  return check;
}

Write ZaeRetry(const ZaePass& pass, const Charge& charge) {
  Write write = UpdateOf(pass, ShardKey(charge));
  for (std::size_t i = 0; i < charge.amounts.size(); ++i) {
    const std::string& limit = charge.target->limits[i].name;
    if (charge.amounts[i] == 0) continue;
    Take(write.expression, limit, charge.amounts[i]);
    write.expression.Require(LimitAttribute(limit, "tk"), ">=", charge.amounts[i]);
  }
  return write;
}

Write ZaeAdjust(const ZaePass& pass, const Charge& delta, const std::optional<Item>& seen) {
  Write write = UpdateOf(pass, ShardKey(delta));
  Expression& e = write.expression;
  e.RequireExists("PK");
  const bool credits = std::ranges::any_of(delta.amounts, [](auto amount) { return amount < 0; });
  for (std::size_t i = 0; i < delta.amounts.size(); ++i) {
    const std::string& limit = delta.target->limits[i].name;
    const std::int64_t amount = delta.amounts[i];
    if (amount == 0) continue;
    Take(e, limit, amount);
    const auto meter = seen ? ReadZaeMeter(*seen, limit) : std::nullopt;
    if (amount > 0 || !meter) continue;
    e.Require(LimitAttribute(limit, "tk"), "<=", meter->capacity / ZaeShards(*seen) + amount);
    e.RequireEqual(LimitAttribute(limit, "cp"), Of(meter->capacity));
  }
  if (!credits) return write;
  if (!seen) {
    e.Set("vu", Of(0));
    return write;
  }
  RequireAsRead(e, *seen, "vu");
  RequireAsRead(e, *seen, "shard_count");
  return write;
}

Write ZaeBump(const ZaePass& pass, const BucketKey& key, std::int64_t shards) {
  Write write = UpdateOf(pass, {key.entity, key.resource, 0});
  write.expression.Set("shard_count", Of(2 * shards));
  write.expression.RequireEqual("shard_count", Of(shards));
  return write;
}

Write ZaeSync(const ZaePass& pass, const Target& target, std::uint32_t shard,
              const std::vector<std::string>& removed) {
  Write write = UpdateOf(pass, {target.key.entity, target.key.resource, shard});
  Expression& e = write.expression;
  e.RequireExists("PK");
  for (const Limit& limit : target.limits) SetParameters(e, limit);
  e.Set("vu", Of(0));
  for (const std::string& limit : removed) {
    for (const char* field : {"tk", "tc", "cp", "ra", "rp"}) e.Remove(LimitAttribute(limit, field));
  }
  return write;
}

}  // namespace weir::dynamo
