#include "present/page/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::page {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PageHtml, HoldsTheDocumentAsTextThatEndsNoTag) {
  const std::string html = html_page("</script><script>alert(1)</script>");
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>\n<!-- fathom page -->\n"));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)")));
  EXPECT_EQ(count_of(html, "</script>"), 1u);  // of the script
  EXPECT_THAT(html, HasSubstr("<div id=\"data\" hidden><!--PC9zY3JpcHQ+"));
}

TEST(PageHtml, AllowsItsOwnScriptAndStyleAndNothingElse) {
  const std::string html = html_page("");
  const std::string policy = content_security_policy(false);
  EXPECT_THAT(html, HasSubstr(policy));
  EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
}

TEST(PageHtml, TheFileMayFetchNothingAndTheServedPageAsksItsServerOnly) {
  EXPECT_THAT(html_page(""), Not(HasSubstr("connect-src")));
  EXPECT_THAT(html_page(""), Not(HasSubstr("name=\"fathom-code\"")));
  EXPECT_THAT(html_page("", {.served = true}), HasSubstr("; connect-src 'self'\""));
  EXPECT_EQ(count_of(page_script(), "fetch("), 1u) << "for code";
  EXPECT_THAT(page_script(), Not(HasSubstr("XMLHttpRequest")));
  EXPECT_LE(page_script().size(), 190'000u);
}

TEST(PageHtml, CodeThatGoesWithTheFileEndsNoTag) {
  const std::string html = html_page("", {.code = "</script>"});
  EXPECT_THAT(html, HasSubstr("id=\"code\">PC9zY3JpcHQ+</script>"));
}

TEST(PageHtml, AMessageIsNoMarkup) {
  const std::string html = message_page("there is no metric '<img src=\"x\">' & more");
  EXPECT_THAT(html, HasSubstr("'&#60;img src=&#34;x&#34;&#62;' &#38; more</p>"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

}  // namespace
}  // namespace fathom::page
