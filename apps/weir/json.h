// Answers as programs read them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "weir/model/limits_file.h"
#include "weir/store/charge.h"
#include "weir/store/config_store.h"

namespace weir::app {

using Json = nlohmann::ordered_json;

/// An object with a member for each entry of a map, made in linear time: operator[] of Json
/// compares a name with all those before it.
template <class Map, class ToValue>
Json ObjectOf(const Map& entries, ToValue to_value) {
  Json::object_t object;
  object.reserve(entries.size());
  for (const auto& [name, value] : entries) {
    object.push_back(Json::object_t::value_type(name, to_value(value)));
  }
  return object;
}

/// Millitokens as a JSON number of tokens: an integer where whole, else with up to three decimals;
/// from 2^43 on a string if it is not whole, as a reader's double would round it.
Json TokensJson(std::int64_t millitokens);

/// The number of milliseconds in it, down to a microsecond.
Json MillisJson(nanoseconds time);

/// {"admitted", "retry_after_ms", "limits": [{"entity", "name", "capacity", "available",
/// "requested", "exceeded", "retry_after_ms"}]}
Json ToJson(const Decision& decision);

/// {"name", "capacity", "refill_amount", "refill_period_ms"}
Json ToJson(const Limit& limit);
Json ToJson(const std::vector<Limit>& limits);

/// {"level", "entity", "resource", "limits", "on_unavailable", "managed"}; what a level does not
/// have is left out.
Json ToJson(const LevelRecord& record);

/// {"entity", "name", "parent", "cascade", "metadata", "created_at", "managed"}
Json ToJson(const EntityRecord& record);

/// {"namespace", "system", "resources", "entities"}: a limits file, which ParseLimitsFile reads
/// back as `file` if the text has at most kMaxYamlSilence bytes.
Json ToJson(const LimitsFile& file);

std::string_view NameOf(OnUnavailable choice);

}  // namespace weir::app
