#include "weir/events/sqs_wire.h"

#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "weir/aws/json_response.h"
#include "weir/codec/json_text.h"
#include "weir/model/quoted.h"

namespace weir {
namespace {

using nlohmann::json;

tl::unexpected<Error> Malformed(std::string_view operation, std::string_view what) {
  return Fail(Code::kUnknown, fmt::format("response to {}: {}", operation, what));
}

Status CheckRange(std::string_view what, std::int64_t number, std::int64_t least,
                  std::int64_t most) {
  if (number >= least && number <= most) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: {}; expected {} to {}", what, number, least, most));
}

std::string OpenBody(std::string_view queue_url) {
  std::string body = R"({"QueueUrl":)";
  AppendJson(body, queue_url);
  return body;
}

Result<json> ReadResponse(std::string_view operation, std::string_view response) {
  json read = json::parse(response, nullptr, /*allow_exceptions=*/false);
  if (read.is_object()) return read;
  return Malformed(operation, "no JSON object: " + Quoted(response));
}

/// Returns the list under the key; an empty one if the key is null or missing.
Result<json> ListIn(json& response, const char* key, std::string_view operation) {
  json list = response.contains(key) ? std::move(response[key]) : json();
  if (list.is_null()) return json::array();
  if (list.is_array()) return list;
  return Malformed(operation, fmt::format("{} is not a list", key));
}

/// Returns the string under the key; an empty one if there is none.
std::string TextIn(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Returns the time of sending, or nullopt if the response does not contain it.
std::optional<UnixMillis> SentAt(const json& message) {
  const auto attributes = message.is_object() ? message.find("Attributes") : message.end();
  if (attributes == message.end()) return std::nullopt;
  std::int64_t sent = 0;
  if (!absl::SimpleAtoi(TextIn(*attributes, "SentTimestamp"), &sent) || sent <= 0) {
    return std::nullopt;
  }
  return UnixMillis{sent};
}

// Appends an entry of a batch, without its closing brace.
void AppendEntry(std::string& body, std::size_t place, std::string_view receipt) {
  body += fmt::format(R"({}{{"Id":"{}","ReceiptHandle":)", place == 0 ? "" : ",", place);
  AppendJson(body, receipt);
}

Result<SqsBatchOutcome> ReadBatch(std::string_view operation, std::string_view response) {
  WEIR_ASSIGN_OR_RETURN(json read, ReadResponse(operation, response));
  WEIR_ASSIGN_OR_RETURN(const json done, ListIn(read, "Successful", operation));
  WEIR_ASSIGN_OR_RETURN(const json failed, ListIn(read, "Failed", operation));
  SqsBatchOutcome result{.done = done.size(), .failed = failed.size(), .first_fault = {}};
  if (failed.empty()) return result;
  result.first_fault = fmt::format("{}: {}", Printable(TextIn(failed[0], "Code")),
                                   Printable(TextIn(failed[0], "Message")));
  return result;
}

}  // namespace

Status Check(const ReceiveOptions& options) {
  WEIR_RETURN_IF_ERROR(
      CheckRange("seconds to wait for messages", options.wait.count(), 1, kLongestSqsWait.count()));
  WEIR_RETURN_IF_ERROR(
      CheckRange("messages of one call", options.max_messages, 1, kMaxSqsMessages));
  if (!options.visibility) return {};
  constexpr int kHalfADay = 43'200;
  return CheckRange("visibility timeout in seconds", options.visibility->count(), 1, kHalfADay);
}

std::string ReceiveBody(std::string_view queue_url, const ReceiveOptions& options) {
  std::string body =
      OpenBody(queue_url) +
      fmt::format(
          R"(,"AttributeNames":["SentTimestamp"],"MaxNumberOfMessages":{},"WaitTimeSeconds":{})",
          options.max_messages, options.wait.count());
  if (options.visibility) {
    body += fmt::format(R"(,"VisibilityTimeout":{})", options.visibility->count());
  }
  return body + "}";
}

Result<std::vector<SqsMessage>> ReadReceived(std::string_view response) {
  constexpr std::string_view kOperation = "ReceiveMessage";
  WEIR_ASSIGN_OR_RETURN(json read, ReadResponse(kOperation, response));
  WEIR_ASSIGN_OR_RETURN(const json list, ListIn(read, "Messages", kOperation));
  std::vector<SqsMessage> messages;
  for (const json& entry : list) {
    SqsMessage message{.id = TextIn(entry, "MessageId"),
                       .receipt = TextIn(entry, "ReceiptHandle"),
                       .body = TextIn(entry, "Body"),
                       .sent = SentAt(entry)};
    if (message.receipt.empty()) return Malformed(kOperation, "a message without ReceiptHandle");
    messages.push_back(std::move(message));
  }
  return messages;
}

std::string DeleteBody(std::string_view queue_url, std::span<const std::string> receipts) {
  std::string body = OpenBody(queue_url) + R"(,"Entries":[)";
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    AppendEntry(body, i, receipts[i]);
    body += "}";
  }
  return body + "]}";
}

std::string HideBody(std::string_view queue_url, std::span<const SqsHiding> hidings) {
  std::string body = OpenBody(queue_url) + R"(,"Entries":[)";
  for (std::size_t i = 0; i < hidings.size(); ++i) {
    AppendEntry(body, i, hidings[i].receipt);
    body += fmt::format(R"(,"VisibilityTimeout":{}}})", hidings[i].hidden.count());
  }
  return body + "]}";
}

Result<SqsBatchOutcome> ReadDeleted(std::string_view response) {
  return ReadBatch("DeleteMessageBatch", response);
}

Result<SqsBatchOutcome> ReadHidden(std::string_view response) {
  return ReadBatch("ChangeMessageVisibilityBatch", response);
}

}  // namespace weir
