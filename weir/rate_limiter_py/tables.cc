#include "weir/rate_limiter_py/tables.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::rate_limiter_py {
namespace {

constexpr char kBaseVariable[] = "LIMITER_TABLES_BASE_NAME";
constexpr char kAll[] = "ALL";

struct NameRule {
  const char* variable;
  const char* suffix;
  std::string TableNames::* name;
};
constexpr NameRule kRules[] = {
    {"FUNGIBLE_TABLE", "fungible-tokens", &TableNames::tokens},
    {"LIMIT_TABLE", "limits", &TableNames::limits},
    {"NON_FUNGIBLE_TABLE", "non-fungible-tokens", &TableNames::slots},
    {"NON_FUNGIBLE_RES_INDEX", "resource-index", &TableNames::resource_index},
    {"LIMIT_SERVICE_INDEX", "limits-service-index", &TableNames::service_index},
};

std::string WithSuffix(std::string_view base, std::string_view suffix) {
  if (base.empty()) return "";
  return fmt::format("{}{}{}", base, base.ends_with('-') ? "" : "-", suffix);
}

std::string NameOf(const NameRule& rule, std::string_view base,
                   const dynamo::Environment& environment) {
  if (!base.empty()) return WithSuffix(base, rule.suffix);
  if (const auto name = environment(rule.variable)) return *name;
  return WithSuffix(environment(kBaseVariable).value_or(""), rule.suffix);
}

dynamo::TableLayout Layout(std::string_view hash, std::string_view range) {
  dynamo::TableLayout layout;
  layout.keys = {std::string(hash), std::string(range), ""};
  layout.key_types = {{layout.keys.hash, "S"}, {layout.keys.range, "S"}};
  layout.billing = "PAY_PER_REQUEST";
  return layout;
}

void AddIndex(dynamo::TableLayout& layout, const std::string& name, std::string_view hash) {
  layout.global_indexes[name] = {std::string(hash), "", kAll};
  layout.key_types[std::string(hash)] = "S";
}

}  // namespace

Result<TableNames> FindNames(std::string_view base, const dynamo::Environment& environment) {
  TableNames names;
  for (const NameRule& rule : kRules) {
    std::string& name = names.*rule.name;
    name = NameOf(rule, base, environment);
    const std::string remedy = base.empty()
                                   ? fmt::format("set {} or {}", rule.variable, kBaseVariable)
                                   : "name another base";
    if (name.empty()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("no name for one of rate-limiter-py's tables: {}", remedy));
    }
    if (const Status valid = dynamo::CheckTableName(name); !valid) {
      return Fail(Code::kInvalidArgument, fmt::format("{}; {}", valid.error().message, remedy));
    }
  }
  return names;
}

bool NamesTables(const dynamo::Environment& environment) {
  const auto is_set = [&](const char* variable) {
    const std::optional<std::string> value = environment(variable);
    return value && !value->empty();
  };
  return is_set(kBaseVariable) ||
         std::ranges::any_of(kRules, [&](const NameRule& rule) { return is_set(rule.variable); });
}

TableLayouts LayoutsOf(const TableNames& names) {
  TableLayouts layouts{.tokens = Layout(kResourceName, kAccountId),
                       .limits = Layout(kResourceName, kAccountId),
                       .slots = Layout(kCoordinate, kReservationId)};
  AddIndex(layouts.limits, names.service_index, kServiceName);
  AddIndex(layouts.slots, names.resource_index, kResourceId);
  return layouts;
}

dynamo::TableKey TableKeyOf(const AccountKey& key) { return {key.resource, key.account}; }

std::string Coordinate(std::string_view resource, std::string_view account) {
  return fmt::format("{}:{}", resource, account);
}

}  // namespace weir::rate_limiter_py
