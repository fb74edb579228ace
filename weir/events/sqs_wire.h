// The request and response bodies of ReceiveMessage, DeleteMessageBatch and
// ChangeMessageVisibilityBatch, in JSON (Amazon SQS API Reference, version 2012-11-05).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/base/time.h"

namespace weir {

inline constexpr std::string_view kSqsTargetPrefix = "AmazonSQS";
inline constexpr std::chrono::seconds kLongestSqsWait{20};
inline constexpr int kMaxSqsMessages = 10;  ///< in one call

struct ReceiveOptions {
  std::chrono::seconds wait = kLongestSqsWait;  ///< for a first message: 1 to 20 seconds
  int max_messages = kMaxSqsMessages;           ///< 1 to 10
  /// The visibility timeout of received messages: 1 second to 12 hours; by default the queue's.
  std::optional<std::chrono::seconds> visibility{};
};

/// Fails with kInvalidArgument if a number is out of the service's range.
Status Check(const ReceiveOptions& options);

struct SqsMessage {
  std::string id;
  std::string receipt;  ///< identifies this delivery; needed to delete or hide the message
  std::string body;
  /// The time at which the message was sent to the queue, if the service returns it.
  std::optional<UnixMillis> sent{};
};

/// Returns the body of a ReceiveMessage request.
std::string ReceiveBody(std::string_view queue_url, const ReceiveOptions& options);
/// Parses the response of ReceiveMessage. Fails with kUnknown if it is malformed.
Result<std::vector<SqsMessage>> ReadReceived(std::string_view response);

/// Returns the body of a DeleteMessageBatch request. REQUIRES: 1 to kMaxSqsMessages receipts.
std::string DeleteBody(std::string_view queue_url, std::span<const std::string> receipts);

/// A new visibility timeout of a received message, from now on. 0: it can be received at once.
struct SqsHiding {
  std::string receipt;
  std::chrono::seconds hidden{0};  ///< 0 to 12 hours

  friend bool operator==(const SqsHiding&, const SqsHiding&) = default;
};
/// Returns the body of a ChangeMessageVisibilityBatch request. REQUIRES: 1 to kMaxSqsMessages
/// hidings.
std::string HideBody(std::string_view queue_url, std::span<const SqsHiding> hidings);

/// The results for the receipts of one call.
struct SqsBatchOutcome {
  std::size_t done = 0;
  std::size_t failed = 0;
  std::string first_fault;  ///< the service's code and message; empty: none failed
};
/// These two parse the response of DeleteMessageBatch and of ChangeMessageVisibilityBatch. They
/// fail with kUnknown if it is malformed.
Result<SqsBatchOutcome> ReadDeleted(std::string_view response);
Result<SqsBatchOutcome> ReadHidden(std::string_view response);

}  // namespace weir
