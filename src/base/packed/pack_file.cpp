// Runs while fathom is built: a file becomes a source with its compressed bytes, the packed::File NAME that HEADER declares.
//   pack_file INPUT OUTPUT HEADER NAMESPACE NAME
#include <zstd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main(int count, char** arguments) {
  if (count != 6) return std::fputs("usage: pack_file INPUT OUTPUT HEADER NAMESPACE NAME\n", stderr), 2;
  std::ifstream input(arguments[1], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(input)), {});
  if (!input) return std::fprintf(stderr, "pack_file: cannot read %s\n", arguments[1]), 1;
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), ZSTD_maxCLevel());
  if (ZSTD_isError(size) != 0)
    return std::fprintf(stderr, "pack_file: %s: %s\n", arguments[1], ZSTD_getErrorName(size)), 1;
  std::ofstream output(arguments[2]);
  output << "#include \"" << arguments[3] << "\"\n\nnamespace " << arguments[4] << " {\n\n"
         << "static const unsigned char k" << arguments[5] << "Bytes[] = {";
  for (std::size_t i = 0; i < size; ++i)
    output << (i % 32 == 0 ? "\n" : "") << static_cast<unsigned>(static_cast<unsigned char>(packed[i]))
           << ',';
  output << "};\nconst packed::File " << arguments[5] << " = {k" << arguments[5] << "Bytes, " << size << ", "
         << bytes.size() << "};\n\n}  // namespace " << arguments[4] << "\n";
  return output.flush() ? 0 : 1;
}
