#include "weir/kinesis/pipeline/request_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/runtime/earliest.h"

namespace weir::kinesis {
namespace {

// The attempt explains the result of a record that expires before it is alone in a request.
void AddHalvingAttempt(RequestQueue::Request& records, const Attempts::Shared& attempt) {
  for (KinesisRecord& record : records) {
    for (UserRecord& user : record.records) {
      user.attempts.Add(attempt);
      ++user.halvings;
    }
  }
}

}  // namespace

void RequestQueue::Put(std::vector<KinesisRecord> records, Instant now) {
  std::vector<Request> full;
  for (KinesisRecord& record : records) collector_.Put(std::move(record), now, full);
  Pend(std::move(full));
}

// If one entry is at fault, the half without it is accepted. In the end this entry is alone.
void RequestQueue::PutHalves(Request records, const Attempts::Shared& attempt) {
  AddHalvingAttempt(records, attempt);
  const auto middle = records.begin() + std::ssize(records) / 2;
  Request second(std::make_move_iterator(middle), std::make_move_iterator(records.end()));
  records.erase(middle, records.end());
  window_.PutFirst(std::move(second));
  window_.PutFirst(std::move(records));
}

void RequestQueue::CloseDue(Instant now) {
  std::vector<Request> due;
  collector_.TakeDue(now, due);
  Pend(std::move(due));
}

void RequestQueue::CloseAll() {
  std::vector<Request> all;
  collector_.TakeAll(all);
  Pend(std::move(all));
}

void RequestQueue::Pend(std::vector<Request> requests) {
  for (Request& request : requests) window_.Put(std::move(request));
}

bool RequestQueue::MaySend(Instant now) const {
  return !pace_.is_slow() || (window_.in_flight() == 0 && pace_.next() <= now);
}

std::optional<std::size_t> RequestQueue::NextBytes(Instant now) const {
  return MaySend(now) ? window_.NextBytes() : std::nullopt;
}

std::optional<RequestWindow::Sent> RequestQueue::Send(Instant now) {
  if (!MaySend(now)) return std::nullopt;
  const auto sent = window_.Send(now);
  if (!sent) return std::nullopt;
  ++requests_;
  records_ += sent->records->size();
  return sent;
}

void RequestQueue::OnUnsent(std::size_t records) {
  --requests_;
  records_ -= records;
}

void RequestQueue::ReportOverdue(Instant by, std::vector<RequestWindow::Overdue>& out) {
  window_.ReportOverdue(by, out);
}

std::optional<Instant> RequestQueue::NextWake(Instant now) const {
  // If requests are sent one at a time and one is in flight, its response is the next event.
  const bool is_paced = pace_.is_slow() && window_.NextWake() && window_.in_flight() == 0;
  std::optional<Instant> next;
  if (is_paced && pace_.next() > now) next = pace_.next();
  return EarliestOf({collector_.NextWake(), window_.NextWake(), next});
}

void RequestQueue::TakeWaiting(std::vector<KinesisRecord>& out) {
  CloseAll();
  window_.TakeWaiting(out);
}

}  // namespace weir::kinesis
