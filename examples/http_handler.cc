// An HTTP server for several tenants: each request names its tenant in the header X-Tenant. The
// limits of the resource `api` come from a file (docs/limits-file.md). The state is in an SQLite
// file, so that a restart does not give tokens back.
//
//   http_handler LIMITS STATE PORT       (port 0: any that is free; it is printed)
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "weir/sqlite.h"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

Response TextResponse(http::status status, std::string_view text) {
  Response response(status, 11);
  response.set(http::field::content_type, "text/plain");
  response.body() = text;
  response.prepare_payload();
  return response;
}

class Handler {
 public:
  Handler(weir::Limiter& limiter, const weir::Clock& clock) : limiter_(limiter), clock_(clock) {}

  Response Handle(const Request& request) {
    const auto tenant = request["X-Tenant"];
    if (tenant.empty()) return TextResponse(http::status::bad_request, "X-Tenant is missing\n");
    auto outcome = limiter_.Acquire(
        {.entity = {tenant.data(), tenant.size()}, .resource = "api", .amounts = {{"calls", 1}}},
        weir::Deadline::After(clock_, std::chrono::milliseconds(200)));
    if (!outcome)
      return TextResponse(http::status::service_unavailable, outcome.error().message + '\n');
    if (!outcome->admitted()) return Refusal(outcome->decision());
    return TextResponse(http::status::ok, "hello\n");  // the lease commits here: the call was used
  }

 private:
  static Response Refusal(const weir::Decision& decision) {
    Response response = TextResponse(http::status::too_many_requests, "later, please\n");
    if (decision.retry_after == weir::kNeverAdmitted) return response;  // a limit of 0
    const auto wait = std::chrono::ceil<std::chrono::seconds>(decision.retry_after);
    response.set(http::field::retry_after, std::to_string(wait.count()));
    return response;
  }

  weir::Limiter& limiter_;
  const weir::Clock& clock_;
};

void ServeConnection(tcp::socket socket, Handler& handler) {
  boost::beast::flat_buffer buffer;
  boost::system::error_code error;
  while (!error) {
    Request request;
    http::read(socket, buffer, request, error);
    if (error) return;
    Response response = handler.Handle(request);
    response.keep_alive(request.keep_alive());
    http::write(socket, response, error);
    if (!request.keep_alive()) return;
  }
}

weir::Status ApplyLimits(weir::Limiter& limiter, const char* path, weir::Deadline deadline) {
  std::ifstream file(path);
  if (!file) return weir::Fail(weir::Code::kNotFound, std::string("cannot read ") + path);
  std::ostringstream text;
  text << file.rdbuf();
  WEIR_ASSIGN_OR_RETURN(const weir::LimitsFile file_limits,
                        weir::ParseLimitsFile(text.str(), path));
  std::vector<weir::ConfigChange> changes;
  for (const auto& [resource, limits] : file_limits.resources) {
    changes.push_back(weir::PutLimits{weir::Level::Resource(resource), {.limits = limits}});
  }
  return limiter.Apply(std::move(changes), deadline);
}

weir::Status Serve(const char* limits, const char* state, unsigned short port) {
  const weir::SystemClock clock;
  weir::Loop file_io(clock);
  weir::Loop timers(clock);
  WEIR_ASSIGN_OR_RETURN(const auto backend,
                        weir::OpenEmbedded(state, file_io, {.timers = &timers}));
  weir::Limiter limiter(*backend, timers);
  WEIR_RETURN_IF_ERROR(
      ApplyLimits(limiter, limits, weir::Deadline::After(clock, std::chrono::seconds(5))));
  Handler handler(limiter, clock);
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;
  while (true) {
    tcp::socket socket = acceptor.accept();
    ServeConnection(std::move(socket), handler);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::cerr << "usage: http_handler LIMITS STATE PORT\n";
    return 2;
  }
  const auto port = static_cast<unsigned short>(std::atoi(arguments[3]));
  const weir::Status done = Serve(arguments[1], arguments[2], port);
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
