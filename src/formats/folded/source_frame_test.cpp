#include "formats/folded/source_frame.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::formats {
namespace {

std::string parts(std::string_view frame) {
  const auto found = source_frame(frame);
  if (!found) return "a name";
  return std::string(found->function) + "|" + std::string(found->file) + "|" + std::to_string(found->line);
}

TEST(SourceFrame, IsAFunctionWithItsPlaceAsProfilersOfScriptsWriteIt) {
  EXPECT_EQ(parts("parse_json (json/decoder.py:100)"), "parse_json|json/decoder.py|100");
  EXPECT_EQ(parts("<module> (app.py)"), "<module>|app.py|0");
  EXPECT_EQ(parts("_find (<frozen importlib._bootstrap>:228)"), "_find|<frozen importlib._bootstrap>|228");
  EXPECT_EQ(parts("render (/srv/my app/page.js:10:5)"), "render|/srv/my app/page.js|10");
  EXPECT_EQ(parts("block in parse - lib/json.rb:12"), "block in parse|lib/json.rb|12");
  EXPECT_EQ(parts("/usr/lib/python3.11/threading.py:_bootstrap:890"),
            "_bootstrap|/usr/lib/python3.11/threading.py|890");
  EXPECT_EQ(parts("f (native.cpp:7)"), "f|native.cpp|7");
  EXPECT_EQ(parts("handler /srv/my app/server.js:40:2"), "handler|/srv/my app/server.js|40");
  EXPECT_EQ(parts("(anonymous) file:///srv/app.mjs:10:3"), "(anonymous)|file:///srv/app.mjs|10");
  EXPECT_EQ(parts("emit node:events:513:28"), "emit|node:events|513");
}

TEST(SourceFrame, ParametersAreAPartOfAName) {
  for (const char* name :
       {"main", "f(int, long) const", "f (int)", "run (std::string)", "Box::operator() (int)", "x (a::b:1)",
        "(below main)", "libc.so.6 (deleted)", "java/lang/Thread.run:745", "thread (0x7f12)", "a - b",
        "f (v1.2)", " (app.py:1)", "", "app.js:40:2", "read /proc/self/maps",
        "std::function<void (int)>::operator()(int) const"})
    EXPECT_EQ(parts(name), "a name") << name;
}

}  // namespace
}  // namespace fathom::formats
