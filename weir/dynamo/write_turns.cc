#include "weir/dynamo/write_turns.h"

#include <utility>

namespace weir::dynamo {

bool WriteTurns::Enter(const BucketKey& key, Turn turn) {
  const MutexLock lock(mutex_);
  const auto [queue, is_free] = waiting_.try_emplace(key);
  if (!is_free) queue->second.push_back(std::move(turn));
  return is_free;
}

void WriteTurns::Leave(const BucketKey& key) {
  while (Turn next = Next(key)) {
    if (next()) return;
  }
}

WriteTurns::Turn WriteTurns::Next(const BucketKey& key) {
  const MutexLock lock(mutex_);
  const auto queue = waiting_.find(key);
  if (queue->second.empty()) {
    waiting_.erase(queue);
    return nullptr;
  }
  Turn next = std::move(queue->second.front());
  queue->second.pop_front();
  return next;
}

}  // namespace weir::dynamo
