// The world around a JsonClient, as a test writes it. Tests only.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/aws/credentials.h"
#include "weir/aws/http.h"
#include "weir/aws/signer.h"
#include "weir/runtime/scheduler.h"

namespace weir {

using HttpAnswer = tl::expected<HttpResponse, HttpFailure>;

/// Answers the requests in turn from its script; past its end, with `always`.
class ScriptedTransport final : public HttpTransport {
 public:
  struct Line {
    HttpAnswer answer;
    std::optional<nanoseconds> after = std::nullopt;  ///< nothing: before Send returns
  };
  explicit ScriptedTransport(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Send(HttpRequest request, Deadline deadline, HttpDone done) override {
    requests.push_back(std::move(request));
    deadlines.push_back(deadline);
    Line line = script.empty() ? always : std::exchange(script.front(), {});
    if (!script.empty()) script.pop_front();
    if (!line.after) return done(std::move(line.answer));
    Instant at = scheduler_.clock().Now() + *line.after;
    if (at > deadline.at()) {
      at = deadline.at();
      line.answer = tl::unexpected(HttpFailure{true, true, "timed out: h"});
    }
    scheduler_.At(at, [done = std::move(done), answer = std::move(line.answer)]() mutable {
      done(std::move(answer));
    });
  }

  std::deque<Line> script;
  Line always{HttpResponse{.status = 200, .body = "{}"}};
  std::vector<HttpRequest> requests;
  std::vector<Deadline> deadlines;

 private:
  Scheduler& scheduler_;
};

/// Gives "key-1", "key-2", ... or `error`, at once or later.
class ScriptedCredentials final : public CredentialsProvider {
 public:
  explicit ScriptedCredentials(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Get(Deadline deadline, Done<Credentials> done) override {
    ++asked;
    Result<Credentials> answer = Credentials{"key-" + std::to_string(asked), "SECRET", "TOKEN", {}};
    if (!errors.empty()) {
      answer = Fail(std::move(errors.front()));
      errors.pop_front();
    }
    if (!after) return done(std::move(answer));
    Instant at = scheduler_.clock().Now() + *after;
    if (at > deadline.at()) {
      at = deadline.at();
      answer = Fail(Code::kDeadlineExceeded, "no credentials in time");
    }
    scheduler_.At(at, [done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  }

  int asked = 0;
  std::deque<Error> errors;
  std::optional<nanoseconds> after;

 private:
  Scheduler& scheduler_;
};

/// Signs with the name of the key.
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
