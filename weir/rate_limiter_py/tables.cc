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
  const char* what;
  std::string TableNames::* name;
};
constexpr NameRule kRules[] = {
    {"FUNGIBLE_TABLE", "fungible-tokens", "table of tokens", &TableNames::tokens},
    {"LIMIT_TABLE", "limits", "table of limits", &TableNames::limits},
    {"NON_FUNGIBLE_TABLE", "non-fungible-tokens", "table of slots", &TableNames::slots},
    {"NON_FUNGIBLE_RES_INDEX", "resource-index", "index of resource ids",
     &TableNames::resource_index},
    {"LIMIT_SERVICE_INDEX", "limits-service-index", "index of services",
     &TableNames::service_index},
};

std::string WithSuffix(std::string_view base, std::string_view suffix) {
  return fmt::format("{}{}{}", base, base.ends_with('-') ? "" : "-", suffix);
}

Result<std::string> CheckedName(std::string name, const char* variable) {
  const Status valid = dynamo::CheckTableName(name);
  if (valid) return name;
  return Fail(valid.error().code, fmt::format("{}: {}", variable, valid.error().message));
}

Result<std::string> NameOfBase(const NameRule& rule, std::string_view base) {
  std::string name = WithSuffix(base, rule.suffix);
  const Status valid = dynamo::CheckTableName(name);
  if (valid) return name;
  return Fail(valid.error().code, fmt::format("{}; name another base", valid.error().message));
}

Result<std::string> NameOfEnvironment(const NameRule& rule,
                                      const dynamo::Environment& environment) {
  if (const auto name = environment(rule.variable)) {
    if (!name->empty()) return CheckedName(*name, rule.variable);
    return Fail(Code::kInvalidArgument,
                fmt::format("{} is set and empty: set it to the name of rate-limiter-py's {}, or "
                            "unset it, which leaves the name to {}",
                            rule.variable, rule.what, kBaseVariable));
  }
  const auto base = environment(kBaseVariable);
  if (base && !base->empty()) return CheckedName(WithSuffix(*base, rule.suffix), kBaseVariable);
  return Fail(Code::kInvalidArgument,
              fmt::format("no name for rate-limiter-py's {}{}: set {} or {}", rule.what,
                          base ? fmt::format(", because {} is empty", kBaseVariable) : "",
                          rule.variable, kBaseVariable));
}

dynamo::TableLayout LayoutOf(std::string_view hash, std::string_view range) {
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
    WEIR_ASSIGN_OR_RETURN(names.*rule.name, base.empty() ? NameOfEnvironment(rule, environment)
                                                         : NameOfBase(rule, base));
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
  TableLayouts layouts{.tokens = LayoutOf(kResourceName, kAccountId),
                       .limits = LayoutOf(kResourceName, kAccountId),
                       .slots = LayoutOf(kCoordinate, kReservationId)};
  AddIndex(layouts.limits, names.service_index, kServiceName);
  AddIndex(layouts.slots, names.resource_index, kResourceId);
  return layouts;
}

dynamo::TableKey TableKeyOf(const AccountKey& key) { return {key.resource, key.account}; }

std::string Coordinate(std::string_view resource, std::string_view account) {
  return fmt::format("{}:{}", resource, account);
}

}  // namespace weir::rate_limiter_py
