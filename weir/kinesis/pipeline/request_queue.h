// From the Kinesis records that may be sent to the requests that are pending or in flight.
//
//   Put --> collected ----> pending ----> in flight --> Take
//           (Collector)     (RequestWindow)
//
// If the service refuses each request for its content, RefusalPace decides when the next request
// leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/kinesis/pipeline/collector.h"
#include "weir/kinesis/pipeline/refusal_pace.h"
#include "weir/kinesis/pipeline/request_window.h"

namespace weir::kinesis {

/// A state machine without I/O; not thread-safe.
class RequestQueue {
 public:
  using Request = Collector::Request;
  using Flight = RequestWindow::Flight;

  RequestQueue(const CollectorOptions& collector, const RequestWindowOptions& window)
      : collector_(collector), window_(window) {}

  /// Adds records, which are collected into requests.
  void Put(std::vector<KinesisRecord> records, Instant now);
  /// Splits a request that was refused for its content; both halves are sent before other requests.
  /// The attempt is added to all user records and counted as a halving, which says nothing about
  /// the records (UserRecord::halvings). REQUIRES: the request has at least two records.
  void PutHalves(Request records, const Attempts::Shared& attempt);
  /// Turns the collected records into a pending request if the first one has waited for the linger.
  void CloseDue(Instant now);
  /// Turns all collected records into a pending request.
  void CloseAll();

  /// Returns the size in bytes of the request that Send would return; nothing if none may be sent
  /// now.
  std::optional<std::size_t> NextBytes(Instant now) const;
  /// Returns the next request and counts it as in flight; nothing if none may be sent now.
  std::optional<RequestWindow::Sent> Send(Instant now);
  /// See RequestWindow::Take and Find.
  std::optional<Flight> Take(std::uint64_t id) { return window_.Take(id); }
  const Flight* Find(std::uint64_t id) const { return window_.Find(id); }
  /// Notes that the service accepted the content of a request.
  void OnAccepted() { pace_.OnAccepted(); }
  /// Notes that a request was refused for its content.
  void OnRefused(Instant now, Rng& rng) { pace_.OnRefused(now, rng); }
  /// Notes that the service did not receive a request of this number of records, so that the
  /// request does not count as sent.
  void OnUnsent(std::size_t records);

  /// See RequestWindow::ReportOverdue and TakeExpired. Collected records do not expire: they are
  /// pending soon.
  void ReportOverdue(Instant by, std::vector<RequestWindow::Overdue>& out);
  void TakeExpired(Instant now, std::vector<KinesisRecord>& out) { window_.TakeExpired(now, out); }
  /// Returns when the first user record in flight that is not reported expires; nothing if there is
  /// none.
  std::optional<Instant> OverdueWake() const { return window_.OverdueWake(); }
  /// Returns when the collected records are due, a pending record expires, or the refusal pace lets
  /// a pending request leave; nothing if none of these is expected.
  std::optional<Instant> NextWake(Instant now) const;

  /// Takes the records of all requests that are not in flight.
  void TakeWaiting(std::vector<KinesisRecord>& out);
  /// Takes all requests in flight.
  std::vector<Flight> TakeInFlight() { return window_.TakeInFlight(); }

  /// Returns the number of requests, and of records in them, that were sent.
  std::uint64_t requests() const { return requests_; }
  std::uint64_t records() const { return records_; }

 private:
  /// Returns whether the refusal pace lets a request leave.
  bool MaySend(Instant now) const;
  void Pend(std::vector<Request> requests);

  Collector collector_;
  RequestWindow window_;
  RefusalPace pace_;
  std::uint64_t requests_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace weir::kinesis
