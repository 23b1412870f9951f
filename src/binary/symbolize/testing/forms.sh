#!/usr/bin/env bash
# One program with its debug information in every form that compilers and distributions give it.
#
#   forms.sh SOURCES OUTPUT CXX CLANGXX
#
# For each compiler (gcc, clang) and DWARF version there is a twin COMPILER-VERSION, which contains everything, and next to it a
# folder for each form, with a file `program` of the same code. A form that the tools of this machine cannot make is left out,
# and named with the reason in OUTPUT/missing.txt.
set -euo pipefail
sources=$(realpath "$1") output=$2 gcc=$3 clang=$4
rm -rf "$output"
mkdir -p "$output"
cd "$output"
: >missing.txt

# In a folder of its own: split DWARF leaves its files next to the objects.
build() { # FOLDER COMPILER OPTIONS...
  local folder=$1 compiler=$2
  shift 2
  mkdir -p "$folder"
  (
    cd "$folder"
    for unit in forms.cpp forms_other.cpp forms_plain.c; do
      language=c++
      [ "${unit##*.}" = c ] && language=c
      "$compiler" -O2 -fno-pie -ffunction-sections "$@" -x $language -c "$sources/$unit" -o "${unit%.*}.o" &
    done
    wait
    "$compiler" -no-pie -Wl,--build-id=sha1 "$@" forms.o forms_other.o forms_plain.o -o program
  )
}
# What was split off is found by its own folder only when the folder of the objects is there.
form() { # FOLDER REASON COMMAND...
  local folder=$1 reason=$2 status=0
  shift 2
  mkdir -p "$folder"
  # In the background: within a condition, the shell would go on after what fails.
  (
    cd "$folder"
    "$@"
  ) >"$folder.log" 2>&1 &
  wait $! || status=$?
  if [ $status != 0 ]; then
    rm -rf "$folder"
    echo "$folder: $reason: $(tail -n 1 "$folder.log")" >>missing.txt
  fi
  rm -f "$folder.log"
}
plain_form() { # OPTIONS of objcopy
  objcopy "$@" ../"$twin" program
}
zdebug_form() {
  # Packed, the program stands nowhere as it was: a section stays plain where packing does not pay.
  objcopy --compress-debug-sections=zlib-gnu ../"$twin" program
  readelf -SW program | grep -q '\.zdebug_info'
}
link_form() {
  objcopy --only-keep-debug ../"$twin" program.debug
  objcopy --strip-all --add-gnu-debuglink=program.debug ../"$twin" program
}
build_id_form() {
  local id
  id=$(readelf -n ../"$twin" | sed -n 's/.*Build ID: //p')
  mkdir -p "debug/.build-id/${id:0:2}"
  objcopy --only-keep-debug ../"$twin" "debug/.build-id/${id:0:2}/${id:2}.debug"
  objcopy --strip-all ../"$twin" program
}
# As Fedora's find-debuginfo does it.
mini_form() { # NAMES that are not packed, but stay in .symtab
  nm -D ../"$twin" --format=posix --defined-only | awk '{print $1}' | sort >dynamic
  nm ../"$twin" --format=posix --defined-only | awk '$2 ~ /[TtD]/ {print $1}' | sort >all
  comm -13 dynamic all | grep -vxF "$(printf '%s\n' "$@")" >kept
  objcopy --only-keep-debug ../"$twin" full.debug
  objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=kept full.debug mini
  xz mini
  objcopy --strip-all "${@/#/--keep-symbol=}" ../"$twin" program
  objcopy --add-section .gnu_debugdata=mini.xz program
  rm -f full.debug
}
dwz_form() {
  cp ../"$twin" program
  cp ../"$twin" second
  dwz -m common.dwz -M common.dwz -h program second
  readelf -SW program | grep -q '\.gnu_debugaltlink'
}
# The .dwo files are where the program says they are, until all packages are made.
package_form() { # COMMAND
  local folder=$PWD
  cp ../"$twin.split/program" program
  # Those of Debian 12 crash or never end on some of what gcc writes.
  (cd ../"$twin.split" && timeout 10 "$1" -e program -o "$folder/program.dwp")
  readelf -SW program.dwp | grep -q '\.debug_cu_index'
}

for version in 4 5; do
  for name in gcc clang; do
    compiler=$gcc
    [ $name = clang ] && compiler=$clang
    twin=$name-$version
    build "$twin.plain" "$compiler" -g "-gdwarf-$version"
    mv "$twin.plain/program" "$twin"
    rm -rf "$twin.plain"
    form "$twin.zlib" "objcopy" plain_form --compress-debug-sections=zlib
    form "$twin.zstd" "objcopy without zstd" plain_form --compress-debug-sections=zstd
    form "$twin.zdebug" "objcopy" zdebug_form
    form "$twin.link" "objcopy" link_form
    form "$twin.build-id" "objcopy" build_id_form
    form "$twin.mini" "xz" mini_form
    form "$twin.mini-and-symtab" "xz" mini_form main
    form "$twin.dwz" "dwz" dwz_form
    build "$twin.dwo" "$compiler" -g "-gdwarf-$version" -gsplit-dwarf
    rm -f "$twin".dwo/*.o
    build "$twin.split" "$compiler" -g "-gdwarf-$version" -gsplit-dwarf
    form "$twin.dwp" "dwp of binutils" package_form dwp
    form "$twin.llvm-dwp" "llvm-dwp" package_form "$(command -v llvm-dwp-14 || command -v llvm-dwp || echo llvm-dwp)"
    rm -rf "$twin.split"
    [ $name = gcc ] || build "$twin.single" "$compiler" -g "-gdwarf-$version" -gsplit-dwarf=single
  done
done
