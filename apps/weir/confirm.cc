#include "apps/weir/confirm.h"

#include <fmt/format.h>

#include <istream>
#include <ostream>
#include <string>

#include "apps/weir/text.h"

namespace weir::app {

bool Agreed(const World& world, std::string_view question) {
  world.err << EscapeControls(question) << " [y/N] " << std::flush;
  std::string answer;
  std::getline(world.in, answer);
  return answer == "y" || answer == "yes";
}

Status NeedsYes(bool yes, Context& context, std::string_view loss) {
  if (yes) return {};
  WEIR_ASSIGN_OR_RETURN(const StoreChoice choice, context.Store());
  const std::string deed = fmt::format("this {}, in {}", loss, choice.url);
  if (!context.world().in_is_terminal) {
    context.failure = Exit::kUsage;
    return Fail(Code::kInvalidArgument, fmt::format("{}: say --yes if that is meant", deed));
  }
  if (Agreed(context.world(), deed + "; go on?")) return {};
  return Fail(Code::kFailedPrecondition, "nothing is deleted: it was not confirmed");
}

}  // namespace weir::app
