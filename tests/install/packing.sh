#!/usr/bin/env bash
# packing.sh BUILD SOURCE: installs the packing core, moves it, and uses it as docs/use_the_core.md says: from CMake in C++ and C,
# and by pkg-config in C.
set -euo pipefail
build=$1
source=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
work=$build/install_packing
prefix=$(install_and_move "$build" packing "$work")

# Packs of 10 tokens, longest first: 9 opens the first and 5 the second, which 4 fits; 3 opens the third; 1 fills the
# first. 9 + 1, 5 + 4 and 3 are the 22 tokens there are.
packs="sample 1: 9  sample 3: 1  
sample 0: 5  sample 2: 4  
sample 4: 3  "

for language in cpp c; do
  cmake -S "$here/stranger_$language" -B "$work/$language" -DCMAKE_PREFIX_PATH="$prefix" >"$work/$language.log"
  cmake --build "$work/$language" >>"$work/$language.log"
  expect "stranger_$language" "$packs" "$("$work/$language/stranger")"
done

# The lines between ```LANGUAGE and ``` of that page.
page_example() {
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/docs/use_the_core.md" | sed '1d;$d'
}
expect "the page's C++ example" "$(cat "$here/stranger_cpp/main.cpp")" "$(page_example cpp)"
expect "the page's C example" "$(cat "$here/stranger_c/main.c")" "$(page_example c)"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name packsim.pc)")
libraries=$(pkg-config --variable=libdir packsim)
expect "pkg-config --modversion" "$(sed -n 's/^#define PACKSIM_VERSION "\(.*\)"/\1/p' "$prefix/include/packsim.h")" \
       "$(pkg-config --modversion packsim)"
read -a flags <<<"$(pkg-config --cflags --libs packsim)"
cc -std=c99 -pedantic -Wall -Wextra -Werror "$here/stranger_c/main.c" "${flags[@]}" -o "$work/by_pkg_config"
expect "stranger_c by pkg-config" "$packs" "$(env -u LD_LIBRARY_PATH "$work/by_pkg_config")"

expect "symbols of libpacksim_c.so that are not packsim_*" "" \
       "$(nm -D --defined-only "$libraries/libpacksim_c.so" | grep -v ' packsim_' || true)"

# Every installed header compiles without those that stay behind.
(cd "$prefix/include/packsim" && find packing -name '*.hpp' | sed 's/.*/#include "&"/') >"$work/headers.cpp"
c++ -std=c++20 -fsyntax-only -I"$prefix/include/packsim" "$work/headers.cpp"

# Another build folder: the core alone asks for no library, and neither does it inside another project.
cmake --no-warn-unused-cli -S "$source" -B "$work/alone" -DPACKSIM_PACKING_ONLY=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON \
      -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON >"$work/alone.log"
cmake --no-warn-unused-cli -S "$here/embedded" -B "$work/embedded" -DPACKSIM_SOURCE="$source" \
      -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON >"$work/embedded.log"
expect "options inside another project" "CMAKE_BUILD_TYPE:STRING=
PACKSIM_BENCHMARKS:BOOL=OFF
PACKSIM_TESTS:BOOL=OFF" "$(grep -E '^(CMAKE_BUILD_TYPE|PACKSIM_BENCHMARKS|PACKSIM_TESTS):' "$work/embedded/CMakeCache.txt")"
