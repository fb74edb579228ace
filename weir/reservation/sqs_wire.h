// The bodies of ReceiveMessage and DeleteMessageBatch, in JSON (Amazon SQS API Reference, version
// 2012-11-05).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

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
};

std::string ReceiveBody(std::string_view queue_url, const ReceiveOptions& options);
/// kDataLoss, as of ReadDeleted, where it is no such answer.
Result<std::vector<SqsMessage>> ReadReceived(std::string_view answer);

/// REQUIRES: 1 to kMostSqsMessages.
std::string DeleteBody(std::string_view queue_url, std::span<const std::string> receipts);

/// What became of the receipts of one call.
struct SqsDeleted {
  std::size_t deleted = 0;
  std::size_t failed = 0;
  std::string first_fault;  ///< why, as the service says; empty: none failed
};
Result<SqsDeleted> ReadDeleted(std::string_view answer);

}  // namespace weir
