#include "linux/process/tracing_rights.h"

#include <gtest/gtest.h>

namespace fathom::process {
namespace {

TEST(TracingRights, RootIsNotToldToBecomeRoot) {
  EXPECT_NE(remedy_for_tracing({}).find("as root"), std::string::npos);
  for (const bool may_trace_all : {false, true}) {
    const std::string remedy = remedy_for_tracing({.root = true, .may_trace_all = may_trace_all});
    EXPECT_EQ(remedy.find("as root"), std::string::npos) << remedy;
    EXPECT_NE(remedy.find("outside of the "), std::string::npos) << remedy;
  }
}

}  // namespace
}  // namespace fathom::process
