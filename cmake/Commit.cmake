# The commit that is built, as the text NAME in the header OUTPUT; "" where the sources are in no repository. Run at each
# build; the header is written only when the commit has changed, so that nothing else is compiled again.
#   cmake -DSOURCE=FOLDER -DOUTPUT=FILE -P Commit.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(REAL_PATH ${SOURCE} source)
set(commit)
if(top STREQUAL source)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --match=none-
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define FATHOM_COMMIT \"@commit@\"\n" @ONLY)
