// Runs while fathom is built: writes which characters take no column of a terminal, one or two, as utf8proc knows it, as a source.
// Runs of characters that are alike take one number, so that the program needs neither the library nor its large tables.
#include <utf8proc.h>

#include <cstdio>

int main(int count, char** arguments) {
  std::FILE* output = count == 2 ? std::fopen(arguments[1], "w") : nullptr;
  if (output == nullptr) return std::fputs("usage: make_width_table OUTPUT\n", stderr), 2;
  std::fputs(
      "#include \"present/text/width_table.h\"\n\nnamespace fathom::present {\n\n"
      "static const std::uint32_t kChanges[] = {",
      output);
  int width = -1, changes = 0;
  for (utf8proc_int32_t character = 0; character <= 0x10ffff; ++character) {
    if (utf8proc_charwidth(character) == width) continue;
    width = utf8proc_charwidth(character);
    std::fprintf(output, "%s%d,", changes++ % 16 == 0 ? "\n" : " ", character * 4 + width);
  }
  std::fputs(
      "};\nconst std::span<const std::uint32_t> kWidthChanges = kChanges;\n\n}  // namespace fathom::present\n",
      output);
  return std::fclose(output) == 0 ? 0 : 1;
}
