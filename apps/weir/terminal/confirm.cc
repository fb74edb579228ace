#include "apps/weir/terminal/confirm.h"

#include <fmt/format.h>

#include <istream>
#include <ostream>
#include <string>

#include "apps/weir/terminal/text.h"

namespace weir::app {

Status Confirm(Context& context, std::string_view question, std::string_view declined) {
  const ProcessContext& process = context.process();
  process.err << EscapeControls(question) << " [y/N] " << std::flush;
  std::string result;
  std::getline(process.in, result);
  if (process.interrupted && process.interrupted()) {
    context.failure = context.Interrupted();
    return Fail(Code::kCancelled, "interrupted: nothing is deleted");
  }
  // Reading installed the signal handlers. From here on signals must end the deletion, as without a
  // question.
  process.release_signals();
  if (result == "y" || result == "Y" || result == "yes") return {};
  return Fail(Code::kFailedPrecondition, std::string(declined));
}

Status NeedsYes(Context& context, std::string_view loss) {
  const std::string deed = fmt::format("this {}", loss);
  if (!context.process().in_is_terminal) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument, fmt::format("{}: confirm it with --yes", deed));
  }
  return Confirm(context, deed + "; go on?", "nothing is deleted: it was not confirmed");
}

}  // namespace weir::app
