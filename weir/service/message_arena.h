// Memory for the messages of one call.
#pragma once

#include <google/protobuf/arena.h>

#include <array>

namespace weir::service {

/// Messages that the arena makes live as long as the arena. The first 4 KB are in the object, so
/// usually on the stack.
class MessageArena {
 public:
  MessageArena() : arena_(block_.data(), block_.size()) {}
  MessageArena(const MessageArena&) = delete;
  MessageArena& operator=(const MessageArena&) = delete;

  template <class Message>
  Message& Make() const {
    return *google::protobuf::Arena::CreateMessage<Message>(&arena_);
  }

 private:
  alignas(8) std::array<char, 4'096> block_;  // NOLINT: not initialized, since the arena fills it
  mutable google::protobuf::Arena arena_;
};

}  // namespace weir::service
