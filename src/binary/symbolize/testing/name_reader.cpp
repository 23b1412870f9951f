// What fathom is when it reads names or fetches debug files, without the rest of fathom.
#include <string_view>

#include "binary/symbolize/fetch_process.h"
#include "binary/symbolize/name_process.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == fathom::symbolize::kFetchProcessArgument)
    return fathom::symbolize::run_fetch_process(argc, argv);
  return fathom::symbolize::run_name_process(argc, argv);
}
