#include "weir/grpc/message_reader.h"

#include <fmt/format.h>

#include "weir/codec/gunzip.h"

namespace weir::grpc {
namespace {

constexpr std::size_t kPrefix = 5;

std::size_t LengthOf(std::string_view prefix) {
  std::size_t length = 0;
  for (std::size_t i = 1; i < kPrefix; ++i) {
    length = length << 8U | static_cast<unsigned char>(prefix[i]);
  }
  return length;
}

}  // namespace

Result<bool> MessageReader::TakeOne(std::string_view& bytes,
                                    const std::function<void(const ReceivedMessage&)>& receive) {
  if (bytes.size() < kPrefix) return false;
  const std::size_t length = LengthOf(bytes);
  if (length > max_message_) {
    return Fail(Code::kResourceExhausted,
                fmt::format("a message has {} bytes; at most {}", length, max_message_));
  }
  if (bytes.size() < kPrefix + length) return false;
  const auto flag = static_cast<unsigned char>(bytes.front());
  const std::string_view message = bytes.substr(kPrefix, length);
  bytes.remove_prefix(kPrefix + length);
  if (flag > 1)
    return Fail(Code::kInternal, fmt::format("a message has the unknown flag {}", flag));
  if (flag == 1 && !gzip_) {
    return Fail(Code::kUnimplemented,
                "a message is compressed; expected the header 'grpc-encoding: gzip'");
  }
  receive({.bytes = message, .is_compressed = flag == 1});
  return true;
}

Result<std::string> MessageReader::Decompress(std::string_view message) const {
  Result<std::string> plain = Gunzip(message, max_message_);
  if (plain) return plain;
  const bool is_large = plain.error().code == Code::kOutOfRange;
  return Fail(is_large ? Code::kResourceExhausted : Code::kInternal,
              "a compressed message is refused: " + plain.error().message);
}

Status MessageReader::Add(std::string_view bytes,
                          const std::function<void(const ReceivedMessage&)>& receive) {
  const bool has_kept = !kept_.empty();
  if (has_kept) kept_.append(bytes);
  std::string_view rest = has_kept ? std::string_view(kept_) : bytes;
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const bool taken, TakeOne(rest, receive));
    if (!taken) break;
  }
  // A new string, so that the memory of messages that were passed on is freed. If no message was
  // complete, kept_ stays as it is, so that a further piece of a message does not copy the earlier
  // ones.
  if (!has_kept || rest.size() < kept_.size()) kept_ = std::string(rest);
  return {};
}

std::string MessagePrefix(std::size_t size) {
  std::string prefix(kPrefix, '\0');
  for (std::size_t i = kPrefix; i-- > 1; size >>= 8U) prefix[i] = static_cast<char>(size & 0xffU);
  return prefix;
}

}  // namespace weir::grpc
