// Texts: a store refuses the bytes of a caller with an error of one line, or stores and returns
// them unchanged.
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "weir/model/ulid.h"
#include "weir/store/testing/contract.h"

namespace weir {
namespace {

// Most texts differ from valid ones in a byte or two; of random bytes nearly all would be refused.
rc::Gen<std::string> AnyBytes() {
  const auto piece = rc::gen::element<std::string>(
      "a", "Z9", "_", "-", " ", "\n", "\x1b[2J", "\x7f", "\xc3\xbc", "\xfc", "\xe2\x82", "\"", "\\",
      "#", "/", "\xc2\x9b", "\xed\xa0\x80", std::string(1, '\0'), std::string(300, 'x'));
  return rc::gen::oneOf(
      rc::gen::arbitrary<std::string>(),
      rc::gen::map(rc::gen::container<std::vector<std::string>>(3, piece),
                   [](auto pieces) { return pieces[0] + pieces[1] + pieces[2]; }));
}

void RequireRefusal(const Status& status) {
  RC_ASSERT(status.error().code == Code::kInvalidArgument);
  RC_ASSERT(status.error().message.find_first_of("\n\r\x1b") == std::string::npos);
}

const std::vector<std::string>& BadTexts() {
  static const std::vector<std::string> texts = {"M\xfcnchen", "\xe2\x82", "a\x1b[2J",
                                                 std::string("a\0b", 3)};
  return texts;
}

Error RefusalOf(const Status& status) {
  EXPECT_FALSE(status);
  return status ? Error{} : status.error();
}

// C1. Fails if: a store accepts a text that it, or a person's terminal, cannot read again.
TEST_P(StoreContract, C1BytesThatAreNoTextAreRefusedEverywhere) {
  const std::string id = Fresh("acme");
  for (const std::string& bad : BadTexts()) {
    SCOPED_TRACE(testing::PrintToString(bad));
    const auto expect_refused = [&](const Status& status) {
      const Error refusal = RefusalOf(status);
      EXPECT_EQ(refusal.code, Code::kInvalidArgument);
      EXPECT_THAT(refusal.message, testing::HasSubstr("expected"));
    };
    expect_refused(store_.Apply({CreateEntity{{.entity = {.id = id, .name = bad}}}}));
    expect_refused(store_.Apply({PutEntity{{.entity = {.id = id, .metadata = {{"city", bad}}}}}}));
    expect_refused(store_.Apply({PutEntity{{.entity = {.id = id, .metadata = {{bad, "x"}}}}}}));
    const AuditEvent event{.id = UlidMaker().Next(harness_->now(), {.high = 7, .low = 7}),
                           .subject = id,
                           .at = harness_->now(),
                           .action = "looked"};
    const auto with = [&](auto change) {
      AuditEvent changed = event;
      change(changed);
      return store_.Append(changed);
    };
    expect_refused(with([&](AuditEvent& e) { e.action = bad; }));
    expect_refused(with([&](AuditEvent& e) { e.resource = bad; }));
    expect_refused(with([&](AuditEvent& e) { e.details = {{"why", {bad}}}; }));
    expect_refused(with([&](AuditEvent& e) { e.details = {{bad, {true}}}; }));
    const Limit limit{"rpm", PerMinute(10)};
    for (const TargetPtr& target :
         {MakeTarget({bad, "gpt-4", 0}, {limit}), MakeTarget({id, bad, 0}, {limit}),
          MakeTarget({id, "gpt-4", 0}, {{bad, PerMinute(10)}})}) {
      const auto decision = store_.Acquire({Tokens(target, {1})}, harness_->now());
      expect_refused(decision ? Status() : Status(Fail(decision.error())));
      expect_refused(store_.Adjust({Tokens(target, {1})}, harness_->now()));
    }
    const auto credited = store_.Credit({.kind = BucketCredit::Kind::kTopUp,
                                         .entity = id,
                                         .resource = "gpt-4",
                                         .amounts = {{bad, 1'000}},
                                         .principal = {}});
    expect_refused(credited ? Status() : Status(Fail(credited.error())));
    UsageSnapshot used{.entity = id, .resource = bad, .start = {}, .used = {}, .overdrawn = {}};
    expect_refused(store_.AddUsage(used));
    used.resource = "gpt-4";
    used.used = {{bad, 1}};
    expect_refused(store_.AddUsage(used));
  }
  EXPECT_TRUE(Kept({id}).empty());
  const auto events = store_.ListEvents(id, {});
  ASSERT_TRUE(events);
  EXPECT_TRUE(events->items.empty());
  const auto entities = store_.GetEntities({id});
  ASSERT_TRUE(entities);
  EXPECT_FALSE(entities->front());
}

// Fails if: a text that a store accepts does not come back unchanged.
TEST_P(StoreContract, C1AnyTextOfAnEntityIsRefusedOrReadsBack) {
  CheckProperty([&] {
    Entity entity{.id = Fresh("e"), .name = *AnyBytes(), .created_at = harness_->now()};
    entity.metadata[*AnyBytes()] = *AnyBytes();
    const Status put = store_.Apply({PutEntity{{.entity = entity}}});
    if (!put) return RequireRefusal(put);
    const auto found = store_.GetEntities({entity.id});
    RC_ASSERT(found.has_value());
    RC_ASSERT(found->front().has_value());
    RC_ASSERT(found->front()->entity.metadata == entity.metadata);
    const std::string name = entity.name.empty() ? entity.id : entity.name;
    RC_ASSERT(found->front()->entity.name == name);
  });
}

TEST_P(StoreContract, C1AnyTextOfAnAuditEventIsRefusedOrReadsBack) {
  UlidMaker ids;
  CheckProperty([&] {
    const std::string subject = Fresh("e");
    const UnixMillis at = harness_->now() - milliseconds(harness_->now().value % 1000);
    AuditEvent event{.id = ids.Next(at, {.high = 7, .low = 7}),
                     .subject = subject,
                     .at = at,
                     .action = *AnyBytes(),
                     .principal = {},
                     .resource = *AnyBytes(),
                     .details = {}};
    event.details[*AnyBytes()].value = *AnyBytes();
    const Status appended = store_.Append(event);
    if (!appended) return RequireRefusal(appended);
    const auto found = store_.ListEvents(subject, {});
    RC_ASSERT(found.has_value());
    RC_ASSERT(found->items == std::vector{event});
  });
}

}  // namespace
}  // namespace weir
