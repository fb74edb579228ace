// A plugin with a limiter of its own, loaded by plugin_host.cc with dlopen. Weir is linked into it;
// the program that loads it sees only `Admit`.
#include <string>

#include "weir/limiter.h"

namespace {

class Gate {
 public:
  bool Admit(const std::string& user) {
    const auto outcome = limiter_.Acquire(
        {.entity = user, .resource = "plugin", .amounts = {{"calls", 1}}, .limits = limits_},
        weir::Deadline::After(clock_, std::chrono::seconds(1)));
    return outcome && outcome->admitted();
  }

 private:
  weir::SystemClock clock_;
  weir::Loop loop_{clock_};
  std::unique_ptr<weir::Backend> backend_ = weir::MakeMemoryBackend({}, &clock_);
  weir::Limiter limiter_{*backend_, loop_};
  std::vector<weir::Limit> limits_ = weir::ParseLimits("calls:3/min").value();
};

}  // namespace

extern "C" __attribute__((visibility("default"))) bool Admit(const char* user) {
  static Gate gate;
  return gate.Admit(user);
}
