#include "apps/weir/terminal/log_output.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <string>

#include "apps/weir/terminal/json.h"
#include "apps/weir/terminal/text.h"

namespace weir::app {
namespace {

constexpr auto kReplaceBadUtf8 = Json::error_handler_t::replace;

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

Json JsonOf(const LogField& field) {
  return std::visit([](const auto& value) { return Json(value); }, field.value);
}

// Returns whether a text is printed without quotes: it cannot be mistaken for several fields.
bool IsBareWord(std::string_view text) {
  const auto bare = [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  };
  return !text.empty() && std::ranges::all_of(text, bare);
}

std::string TextOf(const LogField& field) {
  const auto* text = std::get_if<std::string_view>(&field.value);
  if (text != nullptr && IsBareWord(*text)) return std::string(*text);
  return JsonOf(field).dump(-1, ' ', false, kReplaceBadUtf8);
}

std::string TextLine(UnixMillis time, LogLevel level, std::string_view event,
                     std::span<const LogField> fields) {
  std::string line = fmt::format("{} {} {}", FormatTime(time), NameOf(level), event);
  for (const LogField& field : fields) line += fmt::format(" {}={}", field.name, TextOf(field));
  return line;
}

std::string JsonLine(UnixMillis time, LogLevel level, std::string_view event,
                     std::span<const LogField> fields) {
  Json json = {{"time", FormatTime(time)}, {"level", NameOf(level)}, {"event", event}};
  for (const LogField& field : fields) json[std::string(field.name)] = JsonOf(field);
  return json.dump(-1, ' ', false, kReplaceBadUtf8);
}

class SpdlogLog final : public Log {
 public:
  SpdlogLog(std::ostream& out, const Clock& clock, LogOptions options)
      : clock_(clock),
        options_(options),
        logger_("weir", std::make_shared<spdlog::sinks::ostream_sink_mt>(out, true)) {
    logger_.set_pattern("%v");
    logger_.set_level(spdlog::level::trace);  // IsEnabled filters instead
  }

  bool IsEnabled(LogLevel level) const override {
    return options_.lowest && level >= *options_.lowest;
  }

  void Write(LogLevel level, std::string_view event, std::span<const LogField> fields) override {
    if (!IsEnabled(level)) return;
    const auto line = options_.format == LogFormat::kJson ? JsonLine : TextLine;
    logger_.log(SpdlogLevel(level), "{}", line(clock_.WallNow(), level, event, fields));
  }

 private:
  const Clock& clock_;
  const LogOptions options_;
  spdlog::logger logger_;
};

}  // namespace

std::unique_ptr<Log> MakeLog(std::ostream& out, const Clock& clock, LogOptions options) {
  return std::make_unique<SpdlogLog>(out, clock, options);
}

Result<std::optional<LogLevel>> ParseLogLevel(std::string_view text) {
  for (const auto level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == NameOf(level)) return std::optional(level);
  }
  if (text == "off") return std::optional<LogLevel>();
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a log level: debug, info, warning, error or off", text));
}

Result<LogFormat> ParseLogFormat(std::string_view text) {
  if (text == "text") return LogFormat::kText;
  if (text == "json") return LogFormat::kJson;
  return Fail(Code::kInvalidArgument, fmt::format("'{}' is not a log format: text or json", text));
}

}  // namespace weir::app
