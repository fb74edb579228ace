#include "weir/zae_table/testing/fleet_ttl_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace weir::dynamo {
namespace {

__extension__ using WideNumber = __int128;

std::int64_t WholeIn(const sim::Item& item, const std::string& name) {
  const auto found = item.find(name);
  const auto* number = found == item.end() ? nullptr : found->second.As<sim::Decimal>();
  return number == nullptr ? 0 : number->ToInt64().value_or(0);
}

// Returns when a limit of one shard is full if nothing more happens, in ms, rounded down.
std::int64_t FullAtMillis(const sim::Item& item, const std::string& limit, std::int64_t shard) {
  const auto field = [&](const char* of) { return WholeIn(item, "b_" + limit + "_" + of); };
  const std::int64_t shards = std::max<std::int64_t>(WholeIn(item, "shard_count"), 1);
  const std::int64_t share = field("cp") / shards + (shard < field("cp") % shards ? 1 : 0);
  const WideNumber missing = std::max<WideNumber>(WideNumber{share} - field("tk") - 1, 0);
  return WholeIn(item, "rf") + static_cast<std::int64_t>(missing * field("rp") * shards /
                                                         std::max<std::int64_t>(field("ra"), 1));
}

std::int64_t FullAtMillis(const sim::Item& item) {
  const std::string& key = *item.at("PK").As<std::string>();
  const std::int64_t shard = std::stoll(key.substr(key.rfind('#') + 1));
  std::int64_t full = 0;
  for (const auto& [name, value] : item) {
    if (!name.starts_with("b_") || !name.ends_with("_tk") || name == "b_wcu_tk") continue;
    full = std::max(full, FullAtMillis(item, name.substr(2, name.size() - 5), shard));
  }
  const auto gone = item.find("w_gone");
  if (gone == item.end()) return full;
  const std::string& text = *gone->second.As<std::string>();
  return std::max<std::int64_t>(full, std::stoll(text.substr(text.find(';') + 1)));
}

}  // namespace

std::vector<std::string> EarlyTtls(const Fleet& fleet, milliseconds slack) {
  std::vector<std::string> broken;
  for (const sim::StreamRecord& record : fleet.table().stream()) {
    if (!record.after || !record.after->contains("rf") || !record.after->contains("ttl")) continue;
    if (fleet.peers().Made(record)) continue;
    const std::int64_t ttl = WholeIn(*record.after, "ttl") * 1000;
    const std::int64_t full = FullAtMillis(*record.after);
    if (full <= ttl + slack.count()) continue;
    broken.push_back(fmt::format("{}: at {} it may go {} ms before it is full",
                                 *record.after->at("PK").As<std::string>(), record.at.value,
                                 full - ttl));
  }
  return broken;
}

}  // namespace weir::dynamo
