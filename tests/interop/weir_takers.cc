#include "tests/interop/weir_takers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>
#include <utility>

namespace weir {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr milliseconds kLongestPause{50};
constexpr milliseconds kLate{100};  // docs/design/actor.md, Responses that are late or lost

int OpenJournal(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::cerr << "weir_process: cannot open the journal " << path << '\n';
  std::exit(1);
}

// Returns 0, or the errno.
int WriteWhole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

LoadThreads::LoadThreads(Limiter& limiter, const Clock& clock, LoadSpec spec)
    : limiter_(limiter),
      clock_(clock),
      spec_(std::move(spec)),
      journal_(OpenJournal(spec_.journal)) {
  for (std::uint64_t i = 0; i < spec_.threads; ++i) threads_.emplace_back([this, i] { Work(i); });
}

LoadThreads::~LoadThreads() {
  Stop();
  close(journal_);
}

LoadReport LoadThreads::Stop() {
  stopped_ = true;
  threads_.clear();
  const MutexLock lock(mutex_);
  return report_;
}

void LoadThreads::Work(std::uint64_t thread) {
  Rng rng(spec_.seed * 1'000 + thread);
  while (!stopped_) std::this_thread::sleep_for(AskOnce(rng));
}

milliseconds LoadThreads::AskOnce(Rng& rng) {
  const UnixMillis begin = clock_.WallNow();
  const Instant asked = clock_.Now();
  auto outcome = limiter_.Acquire(
      {.entity = spec_.entity, .resource = spec_.resource, .amounts = spec_.amounts},
      Deadline::After(clock_, kPatience));
  if (!outcome) {
    Count(outcome.error());
    return kLongestPause;
  }
  const Decision& decision = outcome->decision();
  if (decision.admitted) Write(begin, "take", spec_.amounts);
  {
    const MutexLock lock(mutex_);
    ++(decision.admitted    ? report_.admitted
       : decision.contended ? report_.contended
                            : report_.refused);
    if (decision.maybe_charged_twice) {
      ++report_.maybe_twice;
      if (clock_.Now() < asked + kLate) ++report_.maybe_twice_early;
    }
  }
  if (!decision.admitted) return std::min(decision.retry_after, kLongestPause);
  if (spec_.gives_back) GiveBack(std::move(*outcome).lease(), rng);
  return milliseconds(0);
}

void LoadThreads::GiveBack(Lease lease, Rng& rng) {
  Amounts given;
  for (const Amount& taken : spec_.amounts) {
    const auto most = static_cast<std::uint64_t>(taken.tokens.milli() / kMillitokens);
    const std::uint64_t tokens = rng.Below(most + 1);
    if (tokens > 0) given.push_back({taken.limit, Tokens(tokens)});
  }
  if (given.empty()) return;
  const UnixMillis begin = clock_.WallNow();
  const Status released = lease.Release(given);
  if (!released) return Count(released.error());
  Write(begin, "give", given);
}

void LoadThreads::Write(UnixMillis begin, const char* kind, const Amounts& amounts) {
  std::string line = fmt::format("{} {} {}", begin.value, clock_.WallNow().value, kind);
  for (const Amount& amount : amounts)
    line += fmt::format(" {}={}", amount.limit, amount.tokens.milli() / kMillitokens);
  line += '\n';
  const int failure = WriteWhole(journal_, line);
  if (failure != 0)
    Count({Code::kInternal, fmt::format("cannot write the journal: {}", std::strerror(failure))});
}

void LoadThreads::Count(const Error& error) {
  const MutexLock lock(mutex_);
  if (report_.errors++ == 0) report_.first_error = error.message;
}

}  // namespace weir
