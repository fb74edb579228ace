#include "weir/backends/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "weir/backends/open_reservations.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/runtime/await.h"
#include "weir/store/reservation/reservation_backend.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OpenBackendTest : public testing::Test {
 protected:
  // Takes one of ten tokens, which are practically not refilled. Returns whether it was admitted.
  static bool Take(Backend& backend) {
    const std::vector<Charge> charges = {
        {MakeTarget({"acme", "gpt-4", 0}, {{"calls", Quota{10, 1, kMaxPeriodMillis}}}), {1}}};
    const auto decision = Await<Decision>([&](Done<Decision> done) {
      backend.buckets().Acquire(charges, {0}, Deadline::Never(), std::move(done));
    });
    return decision && decision->admitted;
  }

  Error OpenError(std::string_view url) {
    const auto opened = OpenBackend(url, clock_);
    EXPECT_FALSE(opened) << url;
    return opened ? Error{} : opened.error();
  }

  SystemClock clock_;
  TempFolder folder_;
};

TEST_F(OpenBackendTest, MemoryForgets) {
  for (int i = 0; i < 2; ++i) {
    const auto backend = OpenBackend("memory:", clock_);
    ASSERT_TRUE(backend);
    EXPECT_EQ((*backend)->Describe(), "memory:");
    for (int taken = 0; taken < 10; ++taken) EXPECT_TRUE(Take(**backend));
    EXPECT_FALSE(Take(**backend));
  }
}

TEST_F(OpenBackendTest, AFileRemembersUnderEitherFormOfItsUrl) {
  const std::string path = folder_ / "weir.db";
  for (const std::string& url : {"sqlite:" + path, "sqlite://" + path}) {
    const auto backend = OpenBackend(url, clock_);
    ASSERT_TRUE(backend) << backend.error().message;
    EXPECT_EQ((*backend)->Describe(), "sqlite:" + path);
    for (int taken = 0; taken < 5; ++taken) EXPECT_TRUE(Take(**backend));
  }
  const auto backend = OpenBackend("sqlite:" + path, clock_);
  ASSERT_TRUE(backend);
  EXPECT_FALSE(Take(**backend)) << "ten were taken before";
}

TEST_F(OpenBackendTest, APathMayBeRelativeAndLookLikeSomethingElse) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  for (const char* name : {"weir.db", ":memory:", "file:x", "a%20b.db"}) {
    EXPECT_TRUE(OpenBackend(std::string("sqlite:") + name, clock_));
    EXPECT_TRUE(std::filesystem::exists(name)) << name;
  }
  std::filesystem::current_path(before);
}

// One backend. Fails if: slots are opened although they are not used, or outlive the backend.
TEST_F(OpenBackendTest, I14SlotsAreOpenedAtFirstUseAndClosedWithTheFile) {
  const std::string path = folder_ / "weir.db";
  for (int opened = 0; opened < 2; ++opened) {
    const auto backend = OpenBackend("sqlite:" + path, clock_);
    ASSERT_TRUE(backend) << backend.error().message;
    EXPECT_EQ(std::filesystem::exists(path + "-reservations"), opened == 1);
    const auto slots = (*backend)->reservations();
    ASSERT_TRUE(slots) << slots.error().message;
    const SlotClaim claim{.slot = {{"emr", "acme"}, "s-" + std::to_string(opened)},
                          .limit = 1,
                          .ttl = std::chrono::minutes(5)};
    const auto claimed = Await<ClaimResult>([&](Done<ClaimResult> done) {
      (*slots)->slots().Claim(claim, (*slots)->Now(clock_), Deadline::Never(), std::move(done));
    });
    ASSERT_TRUE(claimed) << claimed.error().message;
    EXPECT_EQ(claimed->slot.has_value(), opened == 0) << "it is held across openings";
    ASSERT_TRUE((*backend)->Close());
    EXPECT_EQ((*backend)->reservations().error().code, Code::kUnavailable);
  }
}

TEST_F(OpenBackendTest, I14SlotsOfANamespaceAreRefusedByName) {
  const std::string url = "sqlite:" + (folder_ / "weir.db");
  const auto file = OpenBackend(url, clock_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(Await<Namespace>([&](Done<Namespace> done) {
    (*file)->namespaces().Register("team-a", Deadline::Never(), std::move(done));
  }));
  const auto team = OpenBackend(url + "?namespace=team-a", clock_);
  ASSERT_TRUE(team) << team.error().message;
  EXPECT_THAT((*team)->reservations().error().message,
              testing::HasSubstr("slots of a file have no namespaces"));
}

// Fails if: the refusal does not say how the slots are opened.
TEST_F(OpenBackendTest, I14SlotsOfAFileThatIsReadAreOpenedAlone) {
  const std::string url = "sqlite:" + (folder_ / "weir.db");
  ASSERT_TRUE(OpenBackend(url, clock_));
  const auto reader = OpenBackend(url, clock_, {.file_use = FileUse::kRead});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_THAT((*reader)->reservations().error().message,
              AllOf(HasSubstr(url + ": opened for reading only"), HasSubstr("OpenReservations")));
  EXPECT_TRUE(OpenReservations(url, clock_, {}));
}

// Fails if: an unregistered namespace is created, or the data of two namespaces are in one file.
TEST_F(OpenBackendTest, AFileHasNamespaces) {
  const std::string url = "sqlite:" + (folder_ / "weir.db");
  EXPECT_EQ(OpenError(url + "?namespace=team-a").code, Code::kNotFound);
  const auto file = OpenBackend(url, clock_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(Await<Namespace>([&](Done<Namespace> done) {
    (*file)->namespaces().Register("team-a", Deadline::Never(), std::move(done));
  }));
  const auto space = OpenBackend(url + "?namespace=team-a", clock_);
  ASSERT_TRUE(space) << space.error().message;
  for (int taken = 0; taken < 10; ++taken) EXPECT_TRUE(Take(**space));
  EXPECT_FALSE(Take(**space));
  EXPECT_TRUE(Take(**file));
  EXPECT_EQ(OpenError(url + "?namespace=").code, Code::kInvalidArgument);
  EXPECT_EQ(OpenError(url + "?namespace=id:zzz").code, Code::kNotFound) << "U15";
  EXPECT_EQ(OpenError(url + "?namespace=a b").code, Code::kInvalidArgument);
}

// Fails if: a reader of a namespace without a file creates the file, or keeps others from owning
// it.
TEST_F(OpenBackendTest, ReadingANamespaceThatWasNeverWrittenCreatesAndOwnsNothing) {
  const std::string url = "sqlite:" + (folder_ / "weir.db");
  const std::string space_url = url + "?namespace=team-a";
  const auto file = OpenBackend(url, clock_);
  ASSERT_TRUE(file);
  const auto space = Await<Namespace>([&](Done<Namespace> done) {
    (*file)->namespaces().Register("team-a", Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(space);
  const auto reader = OpenBackend(space_url, clock_, {.file_use = FileUse::kReadBuckets});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "weir.db." + space->id));
  const auto owner = OpenBackend(space_url, clock_);
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_TRUE(Take(**owner));
  EXPECT_FALSE(Take(**reader)) << "it only reads";
  const auto listed = Await<Page<BucketRecord>>([&](Done<Page<BucketRecord>> done) {
    (*reader)->buckets().List({}, {}, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_THAT(listed->items, testing::IsEmpty());
  const auto events = Await<Page<AuditEvent>>([&](Done<Page<AuditEvent>> done) {
    (*reader)->audit().List("acme", {}, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_THAT(events->items, testing::IsEmpty());
}

// Fails if: a namespace whose file cannot be reached, here by a link to a disk that is not mounted,
// reads as an empty one.
TEST_F(OpenBackendTest, ReadingANamespaceWhoseFileCannotBeReachedFails) {
  const std::string url = "sqlite:" + (folder_ / "weir.db");
  const auto file = OpenBackend(url, clock_);
  ASSERT_TRUE(file);
  const auto space = Await<Namespace>([&](Done<Namespace> done) {
    (*file)->namespaces().Register("team-a", Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(space);
  std::filesystem::create_symlink(folder_ / "unmounted/weir.db", folder_ / "weir.db." + space->id);
  EXPECT_FALSE(OpenBackend(url + "?namespace=team-a", clock_, {.file_use = FileUse::kReadBuckets}));
}

// Fails if: a misspelt parameter becomes a part of the path, or is ignored.
TEST_F(OpenBackendTest, U5AFilesParametersAreNamespaceAndMode) {
  const auto read = ParseFileUrl("sqlite:a.db?mode=ro&namespace=team-a");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->path, "a.db");
  EXPECT_EQ(read->namespace_name, "team-a");
  EXPECT_TRUE(read->read_only);
  EXPECT_FALSE(ParseFileUrl("sqlite:a.db?mode=rw")->read_only);
  for (const char* query : {"namspace=team-a", "mode=memory", "namespace=a&namespace=b",
                            "mode=ro&mode=rw", "mode", "", "namespace=a&", "cache=shared"}) {
    const auto refused = ParseFileUrl(std::string("sqlite:a.db?") + query);
    ASSERT_FALSE(refused) << query;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << query;
  }
  EXPECT_THAT(ParseFileUrl("sqlite:a.db?namspace=x").error().message,
              HasSubstr("a file has no parameter 'namspace'"));
}

// U7. Fails if: the principal is not passed on.
TEST_F(OpenBackendTest, U7AFileAuditsWhoMadeTheChange) {
  const auto backend =
      OpenBackend("sqlite:" + (folder_ / "a.db"), clock_, {.principal = "sam@host"});
  ASSERT_TRUE(backend);
  ASSERT_TRUE(Await<void>([&](Done<void> done) {
    (*backend)->config().Apply({CreateEntity{{.entity = {.id = "acme"}}}}, Deadline::Never(),
                               std::move(done));
  }));
  const auto events = Await<Page<AuditEvent>>([&](Done<Page<AuditEvent>> done) {
    (*backend)->audit().List("acme", {}, Deadline::Never(), std::move(done));
  });
  ASSERT_TRUE(events);
  ASSERT_EQ(events->items.size(), 1U);
  EXPECT_EQ(events->items[0].principal, "sam@host");
}

// Fails if: the clock is not passed on.
TEST_F(OpenBackendTest, EveryBackendAuditsWithTheTimeOfTheClock) {
  for (const std::string& url : {std::string("memory:"), "sqlite:" + (folder_ / "a.db")}) {
    const auto backend = OpenBackend(url, clock_);
    ASSERT_TRUE(backend);
    ASSERT_TRUE(Await<void>([&](Done<void> done) {
      (*backend)->config().Apply({CreateEntity{{.entity = {.id = "acme"}}}}, Deadline::Never(),
                                 std::move(done));
    }));
    const auto events = Await<Page<AuditEvent>>([&](Done<Page<AuditEvent>> done) {
      (*backend)->audit().List("acme", {}, Deadline::Never(), std::move(done));
    });
    ASSERT_TRUE(events && events->items.size() == 1);
    EXPECT_GT(events->items[0].at.value, 1'700'000'000'000);
  }
}

TEST_F(OpenBackendTest, HandsTheOptionsOn) {
  const auto backend = OpenBackend("sqlite:" + (folder_ / "weir.db"), clock_,
                                   {.embedded = {.durability = Durability::kStrict}});
  ASSERT_TRUE(backend);
  EXPECT_TRUE(Take(**backend));
  const auto* file = dynamic_cast<EmbeddedBackend*>(backend->get());
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->stats().commits, 1U) << "it answered after the commit";
}

TEST_F(OpenBackendTest, AnErrorOfTheFileIsHandedOn) {
  EXPECT_EQ(OpenError("sqlite:" + (folder_ / "missing/weir.db")).code, Code::kNotFound);
}

TEST_F(OpenBackendTest, ClosesOnce) {
  const auto backend = OpenBackend("sqlite:" + (folder_ / "weir.db"), clock_);
  ASSERT_TRUE(backend);
  EXPECT_TRUE((*backend)->Close());
  EXPECT_FALSE(Take(**backend));
  EXPECT_TRUE((*backend)->Close());
}

TEST_F(OpenBackendTest, SaysWhatThereIs) {
  for (const char* url : {"", "weir.db", "redis://localhost", "sqlite:", "sqlite://",
                          "sqlite://host/weir.db", "memory:mine", "SQLITE:x"}) {
    const Error error = OpenError(url);
    EXPECT_EQ(error.code, Code::kInvalidArgument) << url;
    EXPECT_THAT(error.message, AllOf(HasSubstr(std::string("'") + url + "'"),
                                     HasSubstr("write memory:, sqlite:PATH or dynamodb:")));
  }
  EXPECT_THAT(OpenError("memory:mine").message, HasSubstr("nothing may follow 'memory:'"));
  EXPECT_THAT(OpenError("redis://localhost").message, HasSubstr("no backend is called 'redis'"));
  EXPECT_THAT(OpenError("weir.db").message, HasSubstr("for a file, write sqlite:weir.db"));
}

}  // namespace
}  // namespace weir
