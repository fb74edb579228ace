#include "weir/model/yaml_limits.h"

#include <fmt/format.h>

#include <array>

#include "weir/model/identifier.h"
#include "weir/model/quota_text.h"

namespace weir {
namespace {

using Kind = YamlNode::Kind;
using ParseNumber = Result<std::int64_t> (*)(std::string_view part, std::string_view text);

constexpr std::array<std::string_view, 5> kLimitKeys = {"capacity", "refill_amount",
                                                        "refill_period", "burst", "allowance"};
constexpr std::string_view kQuotaExample =
    "'{capacity: 1500, refill_amount: 1000, refill_period: 60}' or '1000/min:1500'";

/// Reads the quota and allowance of one limit. `where_` names the limit in messages.
class TermsReader {
 public:
  TermsReader(const YamlChecks& checks, std::string where)
      : checks_(checks), where_(std::move(where)) {}

  /// Reads short text or a mapping.
  Result<LimitTerms> Read(const YamlNode& node) const;

 private:
  tl::unexpected<Error> Add(const YamlNode& node, const Error& error) const {
    return checks_.At(node, {error.code, fmt::format("{}: {}", where_, error.message)});
  }
  Result<Quota> ReadQuota(const YamlNode& node) const;
  /// Reads a number into `number`, which is unchanged if `node` has no such key.
  Status ReadNumber(const YamlNode& node, std::string_view key, ParseNumber parse,
                    std::int64_t& number) const;

  const YamlChecks& checks_;
  std::string where_;
};

Status TermsReader::ReadNumber(const YamlNode& node, std::string_view key, ParseNumber parse,
                               std::int64_t& number) const {
  const YamlEntry* entry = Find(node, key);
  if (entry == nullptr) return {};
  const std::string part = fmt::format("{}: {}", where_, key);
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, *entry->value, part, "a number"));
  const auto parsed = parse(part, entry->value->text);
  if (!parsed) return checks_.At(*entry->value, parsed.error());
  number = *parsed;
  return {};
}

Result<Quota> TermsReader::ReadQuota(const YamlNode& node) const {
  Quota quota{.capacity = 0, .amount = 0, .period = 60'000};
  WEIR_RETURN_IF_ERROR(ReadNumber(node, "capacity", ParseTokensFromZero, quota.capacity));
  quota.amount = quota.capacity;
  WEIR_RETURN_IF_ERROR(ReadNumber(node, "refill_amount", ParseTokensFromZero, quota.amount));
  WEIR_RETURN_IF_ERROR(ReadNumber(node, "refill_period", ParsePositiveSeconds, quota.period));
  WEIR_RETURN_IF_ERROR(ReadNumber(node, "burst", ParseTokensFromZero, quota.capacity));
  if (const Status zeros = CheckZeros(quota); !zeros) return Add(node, zeros.error());
  return quota;
}

Result<LimitTerms> TermsReader::Read(const YamlNode& node) const {
  if (node.kind == Kind::kScalar) {
    auto terms = ParseTerms(node.text);
    if (!terms) return Add(node, {Code::kInvalidArgument, terms.error().message});
    return *terms;
  }
  if (node.kind != Kind::kMapping) {
    return checks_.Refuse(node.line, fmt::format("{} is {}", where_, Describe(node.kind)),
                          kQuotaExample);
  }
  WEIR_RETURN_IF_ERROR(checks_.ExpectKeys(node, where_, kLimitKeys));
  if (Find(node, "capacity") == nullptr) {
    return checks_.Refuse(node.line, fmt::format("{} has no capacity", where_), kQuotaExample);
  }
  LimitTerms terms;
  WEIR_ASSIGN_OR_RETURN(terms.quota, ReadQuota(node));
  if (const YamlEntry* allowance = Find(node, "allowance")) {
    WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kScalar, *allowance->value, "allowance", "a time"));
    const auto parsed = ParseAllowance(allowance->value->text);
    if (!parsed) return Add(*allowance->value, parsed.error());
    terms.allowance = *parsed;
  }
  return terms;
}

}  // namespace

Result<std::vector<Limit>> YamlLimits::Read(const YamlNode& node, const std::string& owner) {
  const std::string where = "limits of " + owner;
  WEIR_RETURN_IF_ERROR(checks_.Expect(Kind::kMapping, node, where, kYamlLimitsExample));
  if (node.entries.empty()) {
    return checks_.Refuse(node.line, where + " are empty", kYamlLimitsExample);
  }
  if (node.entries.size() > kMaxLimits) {
    return checks_.Refuse(node.line, fmt::format("{} limits of {}", node.entries.size(), owner),
                          fmt::format("at most {}", kMaxLimits));
  }
  declared_ += node.entries.size();
  if (declared_ > kMaxDeclaredLimits) {
    return checks_.Refuse(node.line, fmt::format("more than {} limits in all", kMaxDeclaredLimits),
                          "fewer limits; entities can share those of a resource");
  }
  std::vector<Limit> limits;
  for (const YamlEntry& entry : node.entries) {
    WEIR_RETURN_IF_ERROR(checks_.CheckName(*entry.key, CheckLimitName));
    const std::string& name = entry.key->text;
    WEIR_ASSIGN_OR_RETURN(
        const LimitTerms terms,
        TermsReader(checks_, fmt::format("limit '{}' of {}", name, owner)).Read(*entry.value));
    limits.push_back({.name = name, .quota = terms.quota, .allowance = terms.allowance});
  }
  return limits;
}

}  // namespace weir
