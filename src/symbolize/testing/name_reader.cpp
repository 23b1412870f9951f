// What fathom is when it reads names, without the rest of fathom.
#include "symbolize/name_process.h"

int main(int argc, char** argv) {
  return fathom::symbolize::run_name_process(argc, argv);
}
