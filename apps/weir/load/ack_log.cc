#include "apps/weir/load/ack_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weir/model/limit.h"

namespace weir::app {

Result<std::unique_ptr<AckLog>> AckLog::Open(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file >= 0) return std::unique_ptr<AckLog>(new AckLog(file, path));
  return Fail(Code::kUnavailable, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

AckLog::~AckLog() { close(file_); }

Status AckLog::Write(const Entry& entry) {
  std::string line =
      fmt::format("{} {} {} {}", entry.at.value, entry.op, entry.entity, entry.resource);
  for (const Amount& amount : entry.amounts) {
    line += fmt::format(" {}={}", amount.limit, FormatTokens(amount.tokens.milli()));
  }
  line += '\n';
  const ssize_t written = write(file_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return {};
  const char* cause = written < 0 ? std::strerror(errno) : "no space left for a whole line";
  return Fail(Code::kUnavailable, fmt::format("cannot write {}: {}", path_, cause));
}

}  // namespace weir::app
