# INPUT, a script -> TEXT, the same without comment lines and indentation, and SUM, a source file with its SHA-256 sum as the
# text kNAMESha256, declared in HEADER.
file(READ ${INPUT} text)
string(REGEX REPLACE "(^|\n)[ \t]*//[^\n]*" "" text "${text}")
string(REGEX REPLACE "\n[ \t\n]*" "\n" text "${text}")
string(STRIP "${text}" text)
string(SHA256 hash "${text}")
file(WRITE ${TEXT} "${text}")
file(WRITE ${SUM} "#include \"${HEADER}\"

namespace fathom::present {

const std::string_view k${NAME}Sha256 = \"${hash}\";

}  // namespace fathom::present
")
