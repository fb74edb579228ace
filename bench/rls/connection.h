// One HTTP/2 connection of the benchmark's client.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/rls/requests.h"
#include "weir/transport/unique_fd.h"

namespace weir::bench {

using SteadyTime = std::chrono::steady_clock::time_point;

/// The end of one call.
struct CallResult {
  SteadyTime due;        ///< the time at which the call was due
  std::size_t key = 0;   ///< as passed to Send
  int grpc_status = -1;  ///< -1: the stream ended without one
  Verdict verdict = Verdict::kNone;
};

/// Sends the fields that Envoy 1.40 sends. Used by one thread; a broken connection ends the
/// process, since then the measurement is void.
class RlsConnection {
 public:
  using Completed = std::function<void(RlsConnection&, const CallResult&)>;

  /// `timeout` is the value of `grpc-timeout`. `completed` may call Send.
  RlsConnection(transport::UniqueFd socket, std::string authority, std::string timeout,
                Completed completed);
  ~RlsConnection();
  RlsConnection(const RlsConnection&) = delete;
  RlsConnection& operator=(const RlsConnection&) = delete;

  /// Begins a call. `message` must outlive it; `key` is passed to the result. Flush writes it.
  void Send(std::string_view message, std::size_t key, SteadyTime due);
  /// Writes until the socket is full or the session has no more output.
  void Flush();
  /// Reads the available bytes of the socket, and reports the calls that have ended.
  void Receive();

  int fd() const { return socket_.get(); }
  std::size_t in_flight() const { return in_flight_; }

 private:
  friend struct RlsCallbacks;
  struct Call;

  void End(Call& call);

  transport::UniqueFd socket_;
  const std::string authority_;
  const std::string timeout_;
  const Completed completed_;
  nghttp2_session* session_ = nullptr;
  std::vector<nghttp2_nv> fields_;
  std::vector<std::unique_ptr<Call>> calls_;  // all that were made
  std::vector<Call*> free_;
  std::size_t in_flight_ = 0;
  std::string output_;
};

/// Returns a non-blocking socket that is connected to the loopback's port. Ends the process if that
/// fails.
transport::UniqueFd ConnectToLoopback(std::uint16_t port);

}  // namespace weir::bench
