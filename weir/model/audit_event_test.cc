#include "weir/model/audit_event.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(AuditEvent, SubjectsAreEntitiesResourcesAndTheSystem) {
  EXPECT_TRUE(CheckSubject("acme"));
  EXPECT_TRUE(CheckSubject(kSystemSubject));
  EXPECT_EQ(ResourceSubject("gpt-4"), "$RESOURCE:gpt-4");
  EXPECT_TRUE(CheckSubject(ResourceSubject("gpt-4")));
}

TEST(AuditEvent, OtherSubjectsAreRefused) {
  for (const char* subject : {"", "a#b", "$OTHER", "$RESOURCE:", "$RESOURCE:a b", "$SYSTEMS"}) {
    const Status status = CheckSubject(subject);
    ASSERT_FALSE(status) << subject;
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  }
}

TEST(AuditEvent, APrincipalIsAnIdentifierOrAnArn) {
  EXPECT_TRUE(CheckPrincipal("ops@example.org"));
  EXPECT_TRUE(CheckPrincipal("arn:aws:sts::123456789012:assumed-role/admin/me"));
  EXPECT_FALSE(CheckPrincipal(""));
  EXPECT_FALSE(CheckPrincipal("a/b"));
  EXPECT_FALSE(CheckPrincipal("arn:aws:x y"));
  EXPECT_FALSE(CheckPrincipal("arn:\n"));
  EXPECT_FALSE(CheckPrincipal("arn:" + std::string(2048, 'a')));
}

}  // namespace
}  // namespace weir
