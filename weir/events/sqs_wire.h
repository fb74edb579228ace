// The bodies of ReceiveMessage, DeleteMessageBatch and ChangeMessageVisibilityBatch, in JSON
// (Amazon SQS API Reference, version 2012-11-05).
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
inline constexpr int kMostSqsMessages = 10;  ///< of one call

struct ReceiveOptions {
  std::chrono::seconds wait = kLongestSqsWait;  ///< for a first message: 1 to 20 seconds
  int most_messages = kMostSqsMessages;         ///< 1 to 10
  /// How long nobody else receives what was received; the queue's own where it is not given.
  std::optional<std::chrono::seconds> visibility{};
};

/// kInvalidArgument where a number is beyond what the service takes.
Status Check(const ReceiveOptions& options);

struct SqsMessage {
  std::string id;
  std::string receipt;  ///< names this delivery; what deletes it
  std::string body;
  std::optional<UnixMillis> sent{};  ///< to the queue
};

std::string ReceiveBody(std::string_view queue_url, const ReceiveOptions& options);
/// kDataLoss, as of ReadDeleted, where it is no such answer.
Result<std::vector<SqsMessage>> ReadReceived(std::string_view answer);

/// REQUIRES: 1 to kMostSqsMessages.
std::string DeleteBody(std::string_view queue_url, std::span<const std::string> receipts);

/// How long nobody receives a message, from now on; 0: whoever asks next receives it.
struct SqsHiding {
  std::string receipt;
  std::chrono::seconds hidden{0};  ///< 0 to 12 hours

  friend bool operator==(const SqsHiding&, const SqsHiding&) = default;
};
/// REQUIRES: 1 to kMostSqsMessages.
std::string HideBody(std::string_view queue_url, std::span<const SqsHiding> hidings);

/// What became of the receipts of one call.
struct SqsBatchOutcome {
  std::size_t done = 0;
  std::size_t failed = 0;
  std::string first_fault;  ///< why, as the service says; empty: none failed
};
Result<SqsBatchOutcome> ReadDeleted(std::string_view answer);
Result<SqsBatchOutcome> ReadHidden(std::string_view answer);

}  // namespace weir
