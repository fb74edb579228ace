// A protocol for tests of the driver: echoes bytes, or does what a test says.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "weir/transport/connection.h"

namespace weir::transport {

/// What the connections of a test have seen. Thread-safe.
class Observed {
 public:
  struct Counts {
    int opened = 0, destroyed = 0, drains = 0, peer_closes = 0, timeouts = 0;
    std::size_t received = 0, sent = 0;
    std::string last_peer, last_certificate;
    bool last_encrypted = false;
  };

  template <class Change>
  void Update(Change change) {
    const std::lock_guard lock(mutex_);
    change(counts_);
    changed_.notify_all();
  }
  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  /// Blocks until `is_reached(counts)`.
  template <class Condition>
  void Await(Condition is_reached) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_reached(counts_); });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Counts counts_;
};

/// Echoes, unless `on_bytes` is set. Ends when the peer has closed, or when it is drained.
class ScriptedConnection final : public Connection {
 public:
  using OnBytes = std::function<void(ScriptedConnection&, std::string_view)>;

  ScriptedConnection(ConnectionContext with, Observed& observed, OnBytes on_bytes)
      : context(std::move(with)), observed_(observed), on_bytes_(std::move(on_bytes)) {
    observed_.Update([&](auto& counts) {
      ++counts.opened;
      counts.last_peer = context.peer.address;
      counts.last_certificate = context.peer.certificate_name;
      counts.last_encrypted = context.peer.is_encrypted;
    });
  }
  ~ScriptedConnection() override {
    observed_.Update([](auto& counts) { ++counts.destroyed; });
  }

  void Receive(std::string_view bytes, Instant) override {
    observed_.Update([&](auto& counts) { counts.received += bytes.size(); });
    if (on_bytes_) return on_bytes_(*this, bytes);
    output.append(bytes);
  }
  std::string_view Output() override { return output; }
  void OnSent(std::size_t count, Instant) override {
    output.erase(0, count);
    observed_.Update([&](auto& counts) { counts.sent += count; });
  }
  void OnPeerClosed(Instant) override {
    is_done = ends_with_peer;
    observed_.Update([](auto& counts) { ++counts.peer_closes; });
  }
  Instant wake() const override { return wake_at; }
  void OnTime(Instant) override {
    wake_at = Instant{INT64_MAX};
    observed_.Update([](auto& counts) { ++counts.timeouts; });
    is_done = true;
  }
  void Drain(Instant) override {
    observed_.Update([](auto& counts) { ++counts.drains; });
    is_done = ends_when_drained;
  }
  bool IsDone() const override { return is_done && (output.empty() || drops_output); }
  bool IsCut() const override { return is_cut; }

  ConnectionContext context;
  std::string output;
  bool is_done = false;
  bool is_cut = false;
  bool drops_output = false;  ///< it is done although output is unsent
  bool ends_with_peer = true;
  bool ends_when_drained = true;
  Instant wake_at{INT64_MAX};

 private:
  Observed& observed_;
  const OnBytes on_bytes_;
};

/// Returns a factory of such connections. `observed` must outlive them.
inline ConnectionFactory MakeScripted(Observed& observed,
                                      ScriptedConnection::OnBytes on_bytes = nullptr) {
  return [&observed, on_bytes](ConnectionContext context) {
    return std::make_unique<ScriptedConnection>(std::move(context), observed, on_bytes);
  };
}

}  // namespace weir::transport
