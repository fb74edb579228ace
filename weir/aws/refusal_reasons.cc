#include "weir/aws/refusal_reasons.h"

#include <simdjson.h>

#include <algorithm>

namespace weir {
namespace {

constexpr std::string_view kTableKeyRange = "TableWriteKeyRangeThroughputExceeded";

/// The reason with the highest rank determines the class.
enum class ReasonRank { kNothing, kThroughput, kInvalid, kCondition };

ReasonRank RankOf(std::string_view code) {
  if (code == "ConditionalCheckFailed") return ReasonRank::kCondition;
  if (code.empty() || code == "None" || code == "TransactionConflict") return ReasonRank::kNothing;
  const bool is_throttled = code == "ThrottlingError" || code == "ProvisionedThroughputExceeded" ||
                            code == "RequestLimitExceeded";
  return is_throttled ? ReasonRank::kThroughput : ReasonRank::kInvalid;
}

FailureClass ClassOfRank(ReasonRank rank) {
  switch (rank) {
    case ReasonRank::kThroughput:
      return FailureClass::kThrottle;
    case ReasonRank::kInvalid:
      return FailureClass::kPermanent;
    case ReasonRank::kNothing:
    case ReasonRank::kCondition:
      break;
  }
  return FailureClass::kConditional;
}

std::string MemberText(simdjson::dom::element reason, std::string_view name) {
  std::string_view text;
  return reason[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

Cancellation ReadCancellation(const std::string& body) {
  Cancellation cancellation;
  simdjson::dom::parser parser;
  simdjson::dom::array reasons;
  if (parser.parse(body)["CancellationReasons"].get(reasons) != simdjson::SUCCESS) return {};
  ReasonRank highest = ReasonRank::kNothing;
  for (const simdjson::dom::element reason : reasons) {
    const ReasonRank rank = RankOf(MemberText(reason, "Code"));
    if (rank <= highest) continue;
    highest = rank;
    cancellation = {.kind = ClassOfRank(rank), .text = MemberText(reason, "Message")};
  }
  return cancellation;
}

bool IsTableKeyRangeThrottled(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(body).get(document) != simdjson::SUCCESS) return false;
  // ThrottlingException alone spells the name with a small letter.
  for (const std::string_view name : {"ThrottlingReasons", "throttlingReasons"}) {
    simdjson::dom::array reasons;
    if (document[name].get(reasons) != simdjson::SUCCESS) continue;
    for (const simdjson::dom::element reason : reasons) {
      if (MemberText(reason, "reason") == kTableKeyRange) return true;
    }
  }
  return false;
}

}  // namespace weir
