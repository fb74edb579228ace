// Messages in the body of a gRPC request: each follows a flag byte and a length of four bytes
// (gRPC over HTTP/2, section Length-Prefixed-Message).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::grpc {

/// A message of a body, as received.
struct ReceivedMessage {
  std::string_view bytes;
  bool is_compressed = false;
};

/// Splits a body into messages. Not thread-safe.
class MessageReader {
 public:
  /// `max_message` bounds the bytes of a message, both as received and as decompressed.
  explicit MessageReader(std::size_t max_message) : max_message_(max_message) {}

  /// The request names gzip as its encoding.
  void AllowGzip() { gzip_ = true; }
  /// Passes each message that is complete now to `receive`, in order; its view is valid during the
  /// call. Fails with kResourceExhausted if a message is too large, with kUnimplemented if it is
  /// compressed and the request does not name gzip, and with kInternal if its flag is unknown.
  /// After a failure nothing more may be added.
  Status Add(std::string_view bytes, const std::function<void(const ReceivedMessage&)>& receive);
  /// Decompresses the bytes of a compressed message. Fails with kResourceExhausted if the message
  /// is too large, and with kInternal if it is damaged.
  [[nodiscard]] Result<std::string> Decompress(std::string_view message) const;
  /// Returns true between messages.
  bool is_at_boundary() const { return kept_.empty(); }
  /// Returns the bytes that wait for the rest of their message.
  std::size_t kept() const { return kept_.size(); }

 private:
  // Takes one message from the front of `bytes`. Returns false if it is not complete.
  Result<bool> TakeOne(std::string_view& bytes,
                       const std::function<void(const ReceivedMessage&)>& receive);

  const std::size_t max_message_;
  bool gzip_ = false;
  std::string kept_;
};

/// Returns the flag and the length of a message that is not compressed.
std::string MessagePrefix(std::size_t size);

}  // namespace weir::grpc
