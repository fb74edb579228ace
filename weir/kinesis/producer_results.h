// What results mean to callers. Inside of the producer only.
#pragma once

#include <vector>

#include "weir/kinesis/flushes.h"
#include "weir/kinesis/producer_stream.h"

namespace weir::kinesis {

/// A caller that waits for room, blocked as long as this is kept.
struct Putter {
  Producer::Stream& stream;
  Incoming& incoming;
  Waiter waiter{};
};

/// A result, and whom it is told.
struct Delivery {
  RecordResult result;
  Debt debt;
};

/// What results mean to others.
struct Settled {
  std::vector<Delivery> here{};       ///< their room is free
  std::vector<Delivery> elsewhere{};  ///< in tasks of ProducerParts::callbacks
  std::vector<Waiter> served{};
};

/// What callbacks that have run mean to those who wait for them.
struct Concluded {
  std::vector<Flusher> flushed{};
  bool ended_wait = false;  ///< one waits for the stream no more
};

}  // namespace weir::kinesis
