#include "weir/kinesis/pipeline/request_window.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::kinesis {
namespace {

// The number of pending requests that are searched for one that may be sent. Searching further
// would cost more than it gains.
constexpr std::size_t kLookAhead = 64;

}  // namespace

RequestWindow::Load RequestWindow::LoadOf(const Request& request) {
  Load load;
  for (const KinesisRecord& record : request) {
    load.bytes += record.bytes();
    load.shards.push_back(record.shard);
  }
  std::ranges::sort(load.shards);
  const auto repeated = std::ranges::unique(load.shards);
  load.shards.erase(repeated.begin(), repeated.end());
  return load;
}

RequestWindow::Waiting RequestWindow::MakePending(Request request) {
  const Instant expires = std::ranges::min_element(request, {}, &KinesisRecord::expires)->expires;
  Load load = LoadOf(request);
  return {std::move(request), std::move(load), expires};
}

void RequestWindow::Put(Request request) { Append(MakePending(std::move(request))); }

void RequestWindow::PutFirst(Request request) {
  LowerExpires(waiting_.emplace_front(MakePending(std::move(request))).expires);
}

void RequestWindow::Append(Waiting waiting) {
  LowerExpires(waiting.expires);
  waiting_.push_back(std::move(waiting));
}

void RequestWindow::LowerExpires(Instant expires) {
  expires_ = std::min(expires_.value_or(expires), expires);
}

bool RequestWindow::HasBytesFor(const Load& load) const {
  // A request larger than the limit is sent alone.
  return in_flight_.empty() || bytes_ + load.bytes <= options_.max_bytes;
}

bool RequestWindow::HasShardsFor(const Load& load) const {
  return std::ranges::all_of(load.shards, [this](const auto& shard) {
    const auto at = shard_requests_.find(shard);
    return at == shard_requests_.end() || at->second < options_.max_shard_requests;
  });
}

std::deque<RequestWindow::Waiting>::const_iterator RequestWindow::NextToSend() const {
  if (in_flight_.size() >= options_.max_requests) return waiting_.end();
  // Requests with a busy shard are skipped. The first request without one must also fit into the
  // bytes; otherwise no request leaves.
  const std::size_t searched = std::min(waiting_.size(), kLookAhead);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(searched);
  const auto next = std::find_if(
      waiting_.begin(), end, [this](const Waiting& waiting) { return HasShardsFor(waiting.load); });
  return next == end || !HasBytesFor(next->load) ? waiting_.end() : next;
}

std::optional<std::size_t> RequestWindow::NextBytes() const {
  const auto next = NextToSend();
  if (next == waiting_.end()) return std::nullopt;
  return next->load.bytes;
}

std::optional<RequestWindow::Sent> RequestWindow::Send(Instant now) {
  const auto next = waiting_.begin() + (NextToSend() - waiting_.cbegin());
  if (next == waiting_.end()) return std::nullopt;
  Waiting sent = std::move(*next);
  waiting_.erase(next);
  // If requests remain, expires_ may now be too early, until TakeExpired computes it again.
  if (waiting_.empty()) expires_.reset();
  AddLoad(sent.load);
  const std::uint64_t id = next_id_++;
  // A Kinesis record expires with the first of its user records.
  expiries_.emplace(sent.expires, id);
  const auto flight =
      in_flight_
          .emplace(id, InFlight{{std::move(sent.records), now}, std::move(sent.load), sent.expires})
          .first;
  return Sent{id, &flight->second.flight.records};
}

std::optional<RequestWindow::Flight> RequestWindow::Take(std::uint64_t id) {
  const auto at = in_flight_.find(id);
  if (at == in_flight_.end()) return std::nullopt;
  RemoveLoad(at->second.load);
  if (at->second.expires) expiries_.erase({*at->second.expires, id});
  Flight flight = std::move(at->second.flight);
  in_flight_.erase(at);
  return flight;
}

const RequestWindow::Flight* RequestWindow::Find(std::uint64_t id) const {
  const auto at = in_flight_.find(id);
  return at == in_flight_.end() ? nullptr : &at->second.flight;
}

void RequestWindow::ReportOverdue(Instant by, std::vector<Overdue>& out) {
  while (!expiries_.empty() && expiries_.begin()->first <= by) {
    // For each request, expiries_ has the earliest expiry of a user record that is not reported.
    // The request is inserted again with the next such expiry.
    const std::uint64_t id = expiries_.extract(expiries_.begin()).value().second;
    InFlight& late = in_flight_.at(id);
    late.expires = ReportRequest(late.flight, by, out);
    if (late.expires) expiries_.emplace(*late.expires, id);
  }
}

std::optional<Instant> RequestWindow::ReportRequest(Flight& flight, Instant by,
                                                    std::vector<Overdue>& out) {
  std::optional<Instant> next;
  for (KinesisRecord& record : flight.records) {
    for (UserRecord& user : record.records) {
      if (user.is_reported) continue;
      if (user.expires > by) {
        next = std::min(next.value_or(user.expires), user.expires);
      } else {
        user.is_reported = true;
        out.push_back({&user, flight.began});
      }
    }
  }
  return next;
}

std::optional<Instant> RequestWindow::OverdueWake() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

void RequestWindow::TakeExpired(Instant now, std::vector<KinesisRecord>& out) {
  if (!expires_ || *expires_ > now) return;
  // Append computes expires_ again from the remaining requests.
  expires_.reset();
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    if (waiting.expires > now) {
      Append(std::move(waiting));
      continue;
    }
    Request unexpired;
    for (KinesisRecord& record : waiting.records) {
      (record.expires > now ? unexpired : out).push_back(std::move(record));
    }
    if (!unexpired.empty()) Append(MakePending(std::move(unexpired)));
  }
}

void RequestWindow::TakeWaiting(std::vector<KinesisRecord>& out) {
  for (Waiting& waiting : waiting_) std::ranges::move(waiting.records, std::back_inserter(out));
  waiting_.clear();
  expires_.reset();
}

std::vector<RequestWindow::Flight> RequestWindow::TakeInFlight() {
  std::vector<Flight> flights;
  flights.reserve(in_flight_.size());
  for (auto& [id, request] : in_flight_) flights.push_back(std::move(request.flight));
  in_flight_.clear();
  expiries_.clear();
  shard_requests_.clear();
  bytes_ = 0;
  return flights;
}

void RequestWindow::AddLoad(const Load& load) {
  bytes_ += load.bytes;
  for (const auto& shard : load.shards) ++shard_requests_[shard];
}

void RequestWindow::RemoveLoad(const Load& load) {
  bytes_ -= load.bytes;
  for (const auto& shard : load.shards) {
    const auto at = shard_requests_.find(shard);
    if (--at->second == 0) shard_requests_.erase(at);
  }
}

}  // namespace weir::kinesis
