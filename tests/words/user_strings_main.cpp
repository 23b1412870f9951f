// Prints every string that a user may read, a line each, so that a person can read them in one go.
// Usage: user_strings FOLDER
#include <cstdio>

#include "user_strings.h"

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: user_strings FOLDER\n");
    return 2;
  }
  for (const auto& string : fathom::words::all_strings(words[1]))
    std::printf("%s:%zu: %s\n", string.file.c_str(), string.line, string.text.c_str());
}
