// Scripted parts for the tests of a JsonClient. Tests only.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/credentials/credentials.h"
#include "weir/aws/http/http.h"
#include "weir/aws/signing/signer.h"
#include "weir/runtime/scheduler.h"

namespace weir {

using HttpResult = tl::expected<HttpResponse, HttpFailure>;

/// Responds to requests by the lines of its script, in order; past its end, by `always`.
class ScriptedTransport final : public HttpTransport {
 public:
  struct Line {
    HttpResult response;
    /// The time to the response from when the request has a connection. Nothing: it has a
    /// connection at once, and completes before Send returns.
    std::optional<nanoseconds> after = std::nullopt;
    nanoseconds waits{0};  ///< the wait for a connection
  };
  explicit ScriptedTransport(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Send(HttpRequest request, SendLimits limits, HttpDone done) override {
    requests.push_back(std::move(request));
    all_limits.push_back(limits);
    Line line = script.empty() ? always : std::exchange(script.front(), {});
    if (!script.empty()) script.pop_front();
    if (!line.after) return done(std::move(line.response));
    const Instant at = EndOf(line, limits);
    scheduler_.At(at, [done = std::move(done), response = std::move(line.response)]() mutable {
      done(std::move(response));
    });
  }

  std::deque<Line> script;
  Line always{HttpResponse{.status = 200, .body = "{}"}};
  std::vector<HttpRequest> requests;
  std::vector<SendLimits> all_limits;

 private:
  /// Returns the time of the response. Replaces the response if a limit passes earlier.
  Instant EndOf(Line& line, const SendLimits& limits) const {
    const Instant begun = scheduler_.clock().Now() + line.waits;
    if (limits.LatestBegin().ExpiredAt(begun)) {
      line.response = tl::unexpected(HttpFailure{false, true, "no connection in time: h"});
      return limits.LatestBegin().at();
    }
    const Instant at = begun + *line.after;
    const Deadline end = limits.DeadlineFrom(begun);
    if (at <= end.at()) return at;
    line.response = tl::unexpected(HttpFailure{true, true, "timed out: h"});
    return end.at();
  }

  Scheduler& scheduler_;
};

/// Returns "key-1", "key-2", ..., the previous one again while `repeats` is positive, or the next
/// of `errors`, at once or later.
class ScriptedCredentials final : public CredentialsProvider {
 public:
  explicit ScriptedCredentials(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Get(Deadline deadline, Done<Credentials> done) override {
    ++asked;
    if (repeats > 0) {
      --repeats;
    } else {
      ++key_;
    }
    Result<Credentials> response =
        Credentials{"key-" + std::to_string(key_), "SECRET", "TOKEN", {}};
    if (!errors.empty()) {
      response = Fail(std::move(errors.front()));
      errors.pop_front();
    }
    if (!after) return done(std::move(response));
    Instant at = scheduler_.clock().Now() + *after;
    if (at > deadline.at()) {
      at = deadline.at();
      response = Fail(Code::kDeadlineExceeded, "no credentials in time");
    }
    scheduler_.At(at, [done = std::move(done), response = std::move(response)]() mutable {
      done(std::move(response));
    });
  }

  void Rejected(const Credentials& refused) override { rejected.push_back(refused.access_key_id); }
  void SetServiceTime(UnixMillis now) override { service_times.push_back(now); }

  int asked = 0;
  int repeats = 0;
  std::vector<std::string> rejected;
  std::vector<UnixMillis> service_times;
  std::deque<Error> errors;
  std::optional<nanoseconds> after;

 private:
  Scheduler& scheduler_;
  int key_ = 0;
};

/// Signs by adding the id of the key.
class ScriptedSigner final : public Signer {
 public:
  Status Sign(HttpRequest& request, const Credentials& credentials, UnixMillis now) override {
    times.push_back(now);
    if (error) return Fail(*error);
    request.headers.push_back({"authorization", credentials.access_key_id});
    return {};
  }

  std::vector<UnixMillis> times;
  std::optional<Error> error;
};

}  // namespace weir
