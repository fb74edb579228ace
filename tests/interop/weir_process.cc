// A process with a Limiter of its own, which a test controls line by line. Its cached limits and
// images are those of a process that has been running for a while.
//
//     weir_process URL
//
// Each input line is a list of words in JSON, each reply a line of JSON:
//
//     take ENTITY RESOURCE name=amount...  {"admitted": true, "lease": L} or {"admitted": false,
//                                          "retry_after": SECONDS, "contended": BOOL,
//                                          "available": {name: tokens}}
//     end LEASE [name=amount...]           adjusts the lease by signed amounts and commits it
//     cancel LEASE                         returns all of the lease
//     load ENTITY RESOURCE JOURNAL THREADS SEED keep|give name=amount...
//     stop                                 ends the load and returns its counts
//
// The reply to a failure is {"error": TEXT}.
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "tests/interop/weir_takers.h"
#include "weir/backends/open.h"
#include "weir/limiter/limiter.h"
#include "weir/runtime/loop.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::span<const std::string>;

constexpr std::chrono::seconds kWait{10};

Amounts AmountsOf(Words words) {
  Amounts amounts;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    amounts.push_back({word.substr(0, equals), Tokens(std::stoll(word.substr(equals + 1)))});
  }
  return amounts;
}

Json FailureOf(const Error& error) { return {{"error", error.message}}; }

Json DoneOf(const Status& status) { return status ? Json::object() : FailureOf(status.error()); }

Json RefusalOf(const Decision& decision) {
  Json result = {{"admitted", false},
                 {"retry_after", static_cast<double>(decision.retry_after.count()) / 1000},
                 {"contended", decision.contended},
                 {"available", Json::object()}};
  for (const LimitStatus& limit : decision.limits)
    result["available"][limit.limit] = static_cast<double>(limit.available) / kMillitokens;
  return result;
}

Json ReportOf(const LoadReport& report) {
  return {{"admitted", report.admitted},
          {"refused", report.refused},
          {"contended", report.contended},
          {"maybe_twice", report.maybe_twice},
          {"maybe_twice_early", report.maybe_twice_early},
          {"errors", report.errors},
          {"first_error", report.first_error}};
}

class Process {
 public:
  explicit Process(const std::string& url) : loop_(clock_) {
    auto opened = OpenBackend(url, clock_);
    if (!opened) {
      std::cerr << "weir_process: " << opened.error().message << '\n';
      std::exit(1);
    }
    backend_ = std::move(*opened);
    limiter_.emplace(*backend_, loop_);
  }

  Json Respond(Words words) {
    const std::string& verb = words.front();
    if (verb == "take") return Take(words.subspan(1));
    if (verb == "end") return End(std::stoi(words[1]), AmountsOf(words.subspan(2)));
    if (verb == "cancel") return Cancel(std::stoi(words[1]));
    if (verb == "load") return Load(words.subspan(1));
    if (verb == "stop") return Stop();
    return {{"error", fmt::format("'{}' is not a verb", verb)}};
  }

 private:
  Json Take(Words words) {
    auto outcome = limiter_->Acquire(
        {.entity = words[0], .resource = words[1], .amounts = AmountsOf(words.subspan(2))},
        Deadline::After(clock_, kWait));
    if (!outcome) return FailureOf(outcome.error());
    if (!outcome->admitted()) return RefusalOf(outcome->decision());
    leases_[++last_lease_] = std::move(*outcome).lease();
    return {{"admitted", true}, {"lease", last_lease_}};
  }

  Json End(int number, const Amounts& amounts) {
    Lease lease = TakeLease(number);
    if (amounts.empty()) return DoneOf(lease.Commit());
    const Status adjusted = lease.Adjust(amounts);
    return DoneOf(adjusted ? lease.Commit() : adjusted);
  }

  Json Cancel(int number) { return DoneOf(TakeLease(number).Cancel()); }

  Lease TakeLease(int number) {
    const auto node = leases_.extract(number);
    return node.empty() ? Lease() : std::move(node.mapped());
  }

  Json Load(Words words) {
    takers_.emplace(*limiter_, clock_,
                    LoadSpec{.entity = words[0],
                             .resource = words[1],
                             .amounts = AmountsOf(words.subspan(6)),
                             .gives_back = words[5] == "give",
                             .threads = std::stoull(words[3]),
                             .seed = std::stoull(words[4]),
                             .journal = words[2]});
    return Json::object();
  }

  Json Stop() {
    if (!takers_) return {{"error", "no load is running"}};
    Json report = ReportOf(takers_->Stop());
    takers_.reset();
    return report;
  }

  SystemClock clock_;
  Loop loop_;
  std::unique_ptr<Backend> backend_;
  std::optional<Limiter> limiter_;
  std::map<int, Lease> leases_;
  int last_lease_ = 0;
  std::optional<LoadThreads> takers_;
};

int Run(const std::string& url) {
  Process process(url);
  for (std::string line; std::getline(std::cin, line);) {
    const auto words = Json::parse(line).get<std::vector<std::string>>();
    std::cout << process.Respond(words).dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc == 2) return weir::Run(argv[1]);
  std::cerr << "usage: weir_process URL\n";
  return 2;
}
