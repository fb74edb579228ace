#include "apps/weir/limits/account_limits_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "weir/model/nearest_key.h"
#include "weir/model/quoted.h"

namespace weir::app {
namespace {

using UnorderedJson = nlohmann::json;

constexpr std::array<std::string_view, 4> kKeys = {"accountId", "resourceName", "limit",
                                                   "windowSec"};
constexpr char kShape[] = R"(expected {"limits": [{"accountId": "acme", "resourceName": )"
                          R"("emr", "limit": 5, "windowSec": 60}]})";

Status CheckKeys(const UnorderedJson& entry) {
  if (!entry.is_object()) return Fail(Code::kInvalidArgument, "not a JSON object");
  for (const auto& [key, value] : entry.items()) {
    if (std::ranges::find(kKeys, key) != kKeys.end()) continue;
    return Fail(Code::kInvalidArgument, fmt::format("unknown key {}; did you mean {}?", Quoted(key),
                                                    NearestKey(key, kKeys)));
  }
  return {};
}

Result<std::string> ReadName(const UnorderedJson& entry, const char* key) {
  const auto at = entry.find(key);
  if (at != entry.end() && at->is_string()) return at->get<std::string>();
  return Fail(Code::kInvalidArgument, fmt::format("{} is missing or not a string", key));
}

Result<std::int64_t> ReadWhole(const UnorderedJson& entry, const char* key) {
  const auto at = entry.find(key);
  if (at != entry.end() && at->is_number_integer()) {
    const bool fits = !at->is_number_unsigned() || at->get<std::uint64_t>() <= INT64_MAX;
    if (fits) return at->get<std::int64_t>();
  }
  return Fail(Code::kInvalidArgument, fmt::format("{} is {}, should be a whole number", key,
                                                  at == entry.end() ? "missing" : at->dump()));
}

Result<AccountLimitRow> ReadEntry(const UnorderedJson& entry, const std::string& service) {
  WEIR_RETURN_IF_ERROR(CheckKeys(entry));
  AccountLimitRow row;
  row.service = service;
  WEIR_ASSIGN_OR_RETURN(row.key.resource, ReadName(entry, "resourceName"));
  WEIR_ASSIGN_OR_RETURN(row.key.account, ReadName(entry, "accountId"));
  WEIR_ASSIGN_OR_RETURN(row.limit.limit, ReadWhole(entry, "limit"));
  if (row.limit.limit < 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("limit is {}, should be 0 or more", row.limit.limit));
  }
  if (entry.contains("windowSec")) {
    WEIR_ASSIGN_OR_RETURN(const std::int64_t window, ReadWhole(entry, "windowSec"));
    row.limit.window = std::chrono::seconds(window);
  }
  WEIR_RETURN_IF_ERROR(weir::Check(row.key, row.limit));
  return row;
}

Result<UnorderedJson> ReadJson(std::string_view text) {
  try {
    return UnorderedJson::parse(text);
  } catch (const UnorderedJson::parse_error& error) {
    return Fail(Code::kInvalidArgument, fmt::format("not valid JSON at byte {}", error.byte));
  }
}

Result<std::vector<AccountLimitRow>> ReadRows(const UnorderedJson& entries,
                                              const std::string& service) {
  std::map<AccountKey, std::size_t> numbers;
  std::vector<AccountLimitRow> rows;
  for (const UnorderedJson& entry : entries) {
    const std::size_t number = rows.size() + 1;
    Result<AccountLimitRow> row = ReadEntry(entry, service);
    if (!row) {
      return Fail(Code::kInvalidArgument, fmt::format("entry {}: {}", number, row.error().message));
    }
    const auto [at, is_new] = numbers.emplace(row->key, number);
    if (!is_new) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("entry {}: {} is declared already, by entry {}", number,
                              Describe(row->key), at->second));
    }
    rows.push_back(*std::move(row));
  }
  std::ranges::sort(rows, {}, &AccountLimitRow::key);
  return rows;
}

Result<std::vector<AccountLimitRow>> Parse(std::string_view text, const std::string& service) {
  WEIR_ASSIGN_OR_RETURN(const UnorderedJson json, ReadJson(text));
  const bool fits =
      json.is_object() && json.size() == 1 && json.contains("limits") && json["limits"].is_array();
  if (!fits) return Fail(Code::kInvalidArgument, fmt::format("no list of limits: {}", kShape));
  return ReadRows(json["limits"], service);
}

}  // namespace

Result<std::vector<AccountLimitRow>> ParseAccountLimits(std::string_view text,
                                                        const std::string& file,
                                                        const std::string& service) {
  auto rows = Parse(text, service);
  if (rows) return rows;
  return Fail(rows.error().code, fmt::format("{}: {}", file, rows.error().message));
}

}  // namespace weir::app
