// The Nth operation on the disk fails, for every N: the call has then changed nothing, or
// everything, and a retry completes it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "weir/embedded/reservation/file_reservations.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"
#include "weir/store/testing/reservation/reservation_contract_client.h"

namespace weir {
namespace {

using std::chrono_literals::operator""s;

using Rows = std::vector<std::string>;
// The code of a call that succeeds.
constexpr Code kOk{};
using Verb = std::function<Code(ReservationClient&)>;

template <class T>
Code CodeOf(const Result<T>& result) {
  return result ? kOk : result.error().code;
}

const AccountLimitRow kRow{
    .key = kAccount, .limit = {.limit = 3, .window = std::chrono::seconds(60)}, .service = "s"};

SlotRef Slot(int number) { return {.key = kAccount, .id = fmt::format("w-{}", number)}; }

Verb Claim(int number, UnixMillis now) {
  return [number, now](ReservationClient& client) {
    return CodeOf(client.Claim({.slot = Slot(number), .limit = 3, .ttl = 60s}, now));
  };
}
Verb Bind(int number, const char* resource_id, UnixMillis now) {
  return [number, resource_id, now](ReservationClient& client) {
    return CodeOf(client.Bind(Slot(number), resource_id, 60s, now));
  };
}
Verb End(const char* resource_id, UnixMillis now, UnixMillis remember_until) {
  return [resource_id, now, remember_until](ReservationClient& client) {
    const EndedResource end{
        .resource_id = resource_id, .ended_at = now, .remember_until = remember_until};
    return CodeOf(client.ReleaseResource(end, now));
  };
}
Verb ChangeLimit(AccountLimitChange change) {
  return [change = std::move(change)](ReservationClient& client) {
    return CodeOf(client.Change(change));
  };
}
Verb Take(std::int64_t count, UnixMillis now) {
  return [count, now](ReservationClient& client) {
    return CodeOf(client.Take(kAccount, kRow.limit, count, now));
  };
}

std::vector<Verb> AccountLife() {
  const UnixMillis t = kStart;
  return {Claim(1, t),
          Claim(2, t),
          Claim(3, t + 1s),
          Claim(4, t + 1s),  // refused
          Bind(1, "j-1", t + 2s),
          Bind(2, "j-1", t + 2s),
          End("j-1", t + 5s, t),  // not remembered; repeated, it finds no slots
          End("j-3", t + 6s, t + 3600s),
          ChangeLimit(PutAccountLimit{.row = kRow, .seen = {}}),
          Take(2, t + 7s),
          Take(2, t + 7s),  // refused
          [t](ReservationClient& c) { return CodeOf(c.Renew(Slot(3), 300s, t + 8s)); },
          Claim(5, t + 100s),
          Claim(6, t + 200s),  // sweeps
          [t](ReservationClient& c) { return CodeOf(c.Release(Slot(6), t + 201s)); },
          ChangeLimit(DeleteAccountLimit{.seen = kRow}),
          Bind(3, "j-3", t + 202s)};  // it has ended
}

// A bind to a resource that has ended releases the slot, so that a repeated bind does not find it.
Code Expected(std::size_t verb, std::size_t verbs, bool again) {
  if (verb + 1 < verbs) return kOk;
  return again ? Code::kNotFound : Code::kFailedPrecondition;
}

// Returns the rows of the file, as a process that opens it now sees them.
Rows Dump(const std::string& file) {
  if (!FileExists(file)) return {};
  if (RunSql(file, "SELECT name FROM sqlite_schema WHERE name = 'slot'").empty()) return {};
  return RunSql(file,
                "SELECT * FROM slot UNION ALL SELECT 'ended', resource_id, ended_at, "
                "remember_until, '', '' FROM ended UNION ALL SELECT resource, account, \"limit\", "
                "window, service, 'limit' FROM account_limit UNION ALL SELECT resource, account, "
                "time, bucket, full_at, 'bucket' FROM account_bucket");
}

// Returns the rows after each call if no operation fails.
std::vector<Rows> Sound(const std::string& path) {
  const sim::SimClock clock;
  auto backend = *OpenFileReservations(path, clock);
  ReservationClient client(*backend, [] { return false; });
  std::vector<Rows> after = {{}};
  const std::vector<Verb> life = AccountLife();
  for (std::size_t i = 0; i < life.size(); ++i) {
    EXPECT_EQ(life[i](client), Expected(i, life.size(), false)) << i;
    after.push_back(Dump(path + "-reservations"));
  }
  return after;
}

struct DiskFaults {
  FaultyVfs::Fault fault;
  std::uint64_t more;
};

using enum FaultyVfs::Fault;

class ReservationFaults : public testing::TestWithParam<DiskFaults> {};

TEST_P(ReservationFaults, LeaveAVerbUndoneOrDone) {
  const TempFolder folder;
  const std::vector<Rows> sound = Sound(folder / "sound.db");
  const sim::SimClock clock;
  const std::vector<Verb> life = AccountLife();
  std::uint64_t number = 0;
  std::uint64_t untold = 0;
  for (bool failed = true; failed;) {
    SCOPED_TRACE(fmt::format("operation {} fails", ++number));
    FaultyVfs disk(fmt::format("disk{}", number));
    const std::string path = folder / fmt::format("{}.db", number);
    auto backend = *OpenFileReservations(path, clock, {.vfs = disk.name()});
    ReservationClient client(*backend, [] { return false; });
    disk.FailAt(number, GetParam().fault, GetParam().more);
    bool told = false;
    for (std::size_t i = 0; i < life.size(); ++i) {
      SCOPED_TRACE(fmt::format("verb {}", i));
      Code code = life[i](client);
      bool again = false;
      if (code == Code::kUnavailable) {
        told = true;
        disk.Heal();
        const Rows rows = Dump(path + "-reservations");
        again = rows == sound[i + 1];
        EXPECT_TRUE(rows == sound[i] || again);
        code = life[i](client);
      }
      EXPECT_EQ(code, Expected(i, life.size(), again));
      EXPECT_EQ(Dump(path + "-reservations"), sound[i + 1]);
    }
    if (disk.failures() > 0 && !told) ++untold;
    backend.reset();
    EXPECT_EQ(Dump(path + "-reservations"), sound.back());
    failed = disk.failures() > 0;
    ASSERT_FALSE(HasFailure());
    ASSERT_LT(number, 1000U) << "it never passes untouched";
  }
  EXPECT_GT(number, 60U) << "the life has become too short to mean much";
  // If the write-ahead log cannot be turned on, a later opener turns it on.
  EXPECT_LE(untold, 6U) << "failures that nobody was told of";
}

// Fails if: a claim is written behind the pages that a failed sync has lost. One failure is of the
// sync, the others of the checkpoint with which the connection that failed is closed.
TEST(ReservationSyncs, AClaimAfterALostSyncSurvivesAPowerLoss) {
  for (std::uint64_t number = 1; number < 16; ++number) {
    for (std::uint64_t more = 0; more < 10; ++more) {
      SCOPED_TRACE(fmt::format("operation {} fails, and {} more", number, more));
      const TempFolder folder;
      const sim::SimClock clock;
      FaultyVfs disk("syncs");
      const std::string path = folder / "w.db";
      auto backend = *OpenFileReservations(path, clock, {.vfs = disk.name()});
      ReservationClient client(*backend, [] { return false; });
      ASSERT_EQ(Claim(1, kStart)(client), kOk);
      disk.FailAt(number, kError, more);
      Claim(2, kStart)(client);
      disk.Heal();
      if (Claim(3, kStart)(client) != kOk) continue;
      const std::string copy = folder / "after.db";
      disk.CopySynced(path, copy);
      EXPECT_EQ(RunSql(copy + "-reservations", "SELECT count(*) FROM slot WHERE id = 'w-3'"),
                Rows{"1"});
    }
  }
}

std::string DiskFaultsName(const testing::TestParamInfo<DiskFaults>& info) {
  constexpr const char* kFaults[] = {"error", "full", "short_write"};
  return fmt::format("{}_{}", kFaults[static_cast<int>(info.param.fault)],
                     info.param.more == 0 ? "once" : "for_a_while");
}

INSTANTIATE_TEST_SUITE_P(File, ReservationFaults,
                         testing::Values(DiskFaults{kError, 0}, DiskFaults{kFull, 0},
                                         DiskFaults{kShortWrite, 0}, DiskFaults{kError, 3}),
                         DiskFaultsName);

}  // namespace
}  // namespace weir
