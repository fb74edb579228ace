#include "weir/kinesis/reader/read_stream.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::kinesis {
namespace {

// The time between two calls of `interrupted` while no event comes.
constexpr milliseconds kInterruptPoll{100};
constexpr std::chrono::seconds kRequestDeadline{30};

/// The response to a request or, with id 0, a wake-up.
struct Event {
  std::uint64_t id = 0;
  StreamReader::Response response;
};

/// Passes events from the threads of client and scheduler to the reading thread. Shared by all of
/// them.
class Mailbox {
 public:
  /// Notes that a response will come.
  void Expect() {
    const std::lock_guard lock(mutex_);
    ++expected_;
  }
  void Put(Event event) {
    const std::lock_guard lock(mutex_);
    if (event.id != 0) --expected_;
    events_.push_back(std::move(event));
    arrived_.notify_one();
  }
  /// Waits for the next event; returns nothing if none has come after `wait`.
  std::optional<Event> Take(milliseconds wait) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, wait, [this] { return !events_.empty(); })) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  /// Blocks until all responses that were noted by Expect have come.
  void AwaitResults() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return expected_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Event> events_;
  std::size_t expected_ = 0;
};

using Box = std::shared_ptr<Mailbox>;

void SendReaderRequest(ReaderStep::Request request, const ReadParts& parts, const Box& box) {
  box->Expect();
  const Deadline deadline = Deadline::After(parts.scheduler.clock(), kRequestDeadline);
  parts.client.Call({std::move(request.operation), std::move(request.body), true}, deadline,
                    [box, id = request.id](tl::expected<JsonReply, AwsFailure> reply) {
                      if (!reply) return box->Put({id, tl::unexpected(std::move(reply.error()))});
                      box->Put({id, std::move(reply->body)});
                    });
}

std::optional<Event> NextEvent(const ReadParts& parts, Mailbox& box) {
  while (!parts.interrupted()) {
    if (std::optional<Event> event = box.Take(kInterruptPoll)) return event;
  }
  return std::nullopt;
}

void ReportFailures(const ReaderStep& step, const ReadParts& parts) {
  if (!parts.failing) return;
  if (step.failing) parts.failing(&*step.failing);
  if (step.recovered) parts.failing(nullptr);
}

Status RunReader(StreamReader& reader, const ReadParts& parts, const Box& box) {
  const Clock& clock = parts.scheduler.clock();
  ReaderStep step = reader.OnWake(clock.Now());
  for (;;) {
    for (ReaderStep::Request& request : step.requests)
      SendReaderRequest(std::move(request), parts, box);
    ReportFailures(step, parts);
    if (!step.records.empty() && !parts.take(std::move(step.records))) return {};
    if (step.error) return Fail(*std::move(step.error));
    if (step.done) return {};
    std::optional<TimerId> timer;
    if (step.wake) timer = parts.scheduler.At(*step.wake, [box] { box->Put({}); });
    std::optional<Event> event = NextEvent(parts, *box);
    if (timer) parts.scheduler.Cancel(*timer);
    if (!event) return {};
    const Instant now = clock.Now();
    step = event->id == 0 ? reader.OnWake(now) : reader.OnResponse(event->id, event->response, now);
  }
}

}  // namespace

Status ReadStream(StreamReader& reader, const ReadParts& parts) {
  const auto box = std::make_shared<Mailbox>();
  Status status = RunReader(reader, parts, box);
  box->AwaitResults();
  return status;
}

}  // namespace weir::kinesis
