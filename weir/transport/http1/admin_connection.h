// One connection of HTTP/1.1, as a state machine.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "weir/transport/http1/admin_connections.h"

namespace weir::transport {

/// Buffers at most 64 KB of requests, the bytes of one Receive and one response.
class AdminConnection final : public Connection {
 public:
  /// `handler` must outlive the connection.
  AdminConnection(const AdminHandler& handler, const AdminOptions& options, Instant now);

  void Receive(std::string_view bytes, Instant now) override;
  std::string_view Output() override { return output_; }
  void OnSent(std::size_t count, Instant now) override;
  void OnPeerClosed(Instant now) override;
  Instant wake() const override { return serve_at_ ? std::min(*serve_at_, deadline_) : deadline_; }
  void OnTime(Instant now) override;
  void Drain(Instant now) override;
  bool IsDone() const override { return is_late_ || (is_closing_ && output_.empty()); }

 private:
  /// Serves the next request if it is complete.
  void Serve();
  /// Responds to a request with this head.
  void Respond(std::string_view head);
  /// Writes a response with this status and ends the connection.
  void Refuse(int status, std::string_view more_headers = {});
  void Write(const AdminResponse& response, std::string_view more_headers, bool has_body);

  const AdminHandler& handler_;
  const AdminOptions options_;
  std::string input_;
  std::string output_;
  Instant now_;  ///< of the current event
  Instant deadline_;
  bool in_head_ = false;             ///< `deadline_` is for the head of a request
  std::optional<Instant> serve_at_;  ///< if input remains, when to serve it: after the loop's turn
  bool is_closing_ = false;
  bool is_late_ = false;  ///< the peer has not taken a response in time
};

}  // namespace weir::transport
