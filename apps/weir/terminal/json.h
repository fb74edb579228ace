// The JSON output of the verbs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "weir/model/limits_file.h"
#include "weir/store/bucket/charge.h"
#include "weir/store/config/config_store.h"

namespace weir::app {

using Json = nlohmann::ordered_json;

/// Returns an object with a member for each entry of a map, in linear time: operator[] of Json
/// compares a name with all names before it.
template <class Map, class ToValue>
Json ObjectOf(const Map& entries, ToValue to_value) {
  Json::object_t object;
  object.reserve(entries.size());
  for (const auto& [name, value] : entries) {
    object.push_back(Json::object_t::value_type(name, to_value(value)));
  }
  return object;
}

/// Returns millitokens as a JSON number of tokens: an integer if whole, else with up to three
/// decimals. From 2^43 on, a number that is not whole becomes a string, because a reader's double
/// would round it.
Json TokensJson(std::int64_t millitokens);

/// Returns a duration as a number of milliseconds, rounded down to microseconds.
Json MillisJson(nanoseconds time);

/// Returns {"admitted", "retry_after_ms", "limits": [{"entity", "name", "capacity", "available",
/// "requested", "exceeded", "retry_after_ms"}]}. A wait is null if the request is never admitted.
Json ToJson(const Decision& decision);

/// Returns {"name", "capacity", "refill_amount", "refill_period_ms", "allowance_ms"}; the last only
/// if the limit has an allowance.
Json ToJson(const Limit& limit);
Json ToJson(const std::vector<Limit>& limits);

/// Returns {"level", "entity", "resource", "limits", "on_unavailable", "managed"} without the
/// members that the level lacks.
Json ToJson(const LevelRecord& record);

/// Returns {"entity", "name", "parent", "cascade", "metadata", "created_at", "managed"}.
Json ToJson(const EntityRecord& record);

/// Returns {"namespace", "system", "resources", "entities"}: a limits file that ParseLimitsFile
/// reads back as `file` if the text is shorter than kMaxBytesWithoutEvent bytes.
Json ToJson(const LimitsFile& file);

std::string_view NameOf(OnUnavailable choice);
/// Returns "system", "resource", "entity_default" or "entity".
std::string_view NameOf(Level::Kind kind);

}  // namespace weir::app
