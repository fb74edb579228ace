// Sockets that listen.
#pragma once

#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/transport/inherited_socket.h"
#include "weir/transport/socket_address.h"
#include "weir/transport/unique_fd.h"

namespace weir::transport {

/// A socket that listens. The destructor removes the file of a Unix socket that Open made, unless
/// another process has replaced the file.
class ListenSocket {
 public:
  /// `text` is an address of ParseListenAddress. Removes the file of a Unix socket on which no
  /// process listens. Returns kInvalidArgument or, if the address is in use or not available,
  /// kFailedPrecondition.
  static Result<ListenSocket> Open(const std::string& text);
  /// Takes a copy of a socket that listens already. Returns kInvalidArgument if the socket
  /// does not listen.
  static Result<ListenSocket> Inherit(const InheritedSocket& socket);
  ListenSocket(ListenSocket&& other) noexcept = default;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();

  /// The address to which the socket is bound, with the port that the system chose.
  const SocketAddress& address() const { return address_; }
  /// "ADDRESS:PORT" or "unix:PATH".
  std::string text() const;
  /// Returns the descriptor; the caller owns it from now on.
  UniqueFd TakeFd() { return std::move(fd_); }

 private:
  struct FileId {
    std::string path;  ///< empty: no file is to be removed
    unsigned long device = 0, number = 0;
  };

  explicit ListenSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  Status Bind(const SocketAddress& address, const std::string& text);
  Status ReadAddress();
  static FileId IdOf(const std::string& path);

  UniqueFd fd_;
  SocketAddress address_;
  FileId file_;
};

/// Opens the sockets of one text of ServerOptions::addresses, and appends them to `sockets`. The
/// text "systemd:NAME" means all inherited sockets of this name; for other texts see Open.
Status OpenListenSockets(const std::string& text, const std::vector<InheritedSocket>& inherited,
                         std::vector<ListenSocket>& sockets);

}  // namespace weir::transport
