// A log of acknowledged operations, to compare with the content of a store after a kill.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/base/time.h"
#include "weir/model/tokens.h"

namespace weir::app {

/// Appends lines to a file, each with one write(2). A line in the file was written after its
/// operation had been acknowledged, whatever happened to the process afterwards. Thread-safe. Each
/// line is `unix_ms op entity resource name=amount...`; op is `take` or `adjust`; amounts are in
/// tokens, with a sign.
class AckLog {
 public:
  [[nodiscard]] static Result<std::unique_ptr<AckLog>> Open(const std::string& path);
  ~AckLog();
  AckLog(const AckLog&) = delete;
  AckLog& operator=(const AckLog&) = delete;

  struct Entry {
    UnixMillis at;
    std::string_view op;
    std::string_view entity;
    std::string_view resource;
    const Amounts& amounts;
  };
  [[nodiscard]] Status Write(const Entry& entry);

 private:
  AckLog(int file, std::string path) : file_(file), path_(std::move(path)) {}

  const int file_;
  const std::string path_;
};

}  // namespace weir::app
