#!/bin/bash
# cmake/write_version.cmake: a version says of which sources a build is. Usage: write_version.sh PROJECT_FOLDER CMAKE
set -eu
script=$1/cmake/write_version.cmake
cmake=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wrong() { echo "$*"; exit 1; }
git_of() { git -C "$folder/one" -c user.name=test -c user.email=test@example.org "$@" > /dev/null; }
version_of() {
  "$cmake" -DROOT="$folder/$1" -DVERSION=1.2.3 -DOUTPUT="$folder/$1.cpp" -P "$script"
  sed -n 's/.*return "\(.*\)";.*/\1/p' "$folder/$1.cpp"
}
# expect PROMISE GOT WANTED, where WANTED is a regular expression behind "1.2.3+".
expect() { [[ $2 =~ ^1\.2\.3\+($3)$ ]] || wrong "$1: expected 1.2.3+$3, got $2"; }

mkdir -p "$folder/one/sim" "$folder/one/docs"
echo 'int i;' > "$folder/one/sim/a.cpp"
echo 'project()' > "$folder/one/CMakeLists.txt"
cp -r "$folder/one" "$folder/archive"
cp -r "$folder/one" "$folder/archive_elsewhere"

archive=$(version_of archive)
expect "an archive has a hash of its sources" "$archive" 'sources\.[0-9a-f]{12}'
expect "the same sources in another folder are the same version" "$(version_of archive_elsewhere)" "${archive#*+}"
echo 'int j;' > "$folder/archive/sim/a.cpp"
[ "$(version_of archive)" != "$archive" ] || wrong "other sources are the same version"

git_of init -q
git_of add .
git_of commit -m one
commit=g$(git -C "$folder/one" rev-parse --short=12 HEAD)
expect "a clean tree is its commit" "$(version_of one)" "$commit"
before=$(stat -c %y "$folder/one.cpp")
sleep 0.05
version_of one > /dev/null
[ "$before" = "$(stat -c %y "$folder/one.cpp")" ] || wrong "a file that says so already was written again"
echo page > "$folder/one/docs/page.md"
expect "a page changes no program" "$(version_of one)" "$commit"
cp -r "$folder/archive_elsewhere" "$folder/one/docs/inside"
mkdir "$folder/one/packing"
echo 'int k;' > "$folder/one/packing/new.cpp"
dirty=$(version_of one)
expect "a new source makes the tree dirty" "$dirty" "$commit\.dirty\.[0-9a-f]{8}"
echo 'int l;' > "$folder/one/packing/new.cpp"
[ "$(version_of one)" != "$dirty" ] || wrong "two dirty trees are the same version"
git_of add packing
git_of commit -m two
expect "another commit is another version" "$(version_of one)" "g[0-9a-f]{12}"
[ "$(version_of one)" != "1.2.3+$commit" ] || wrong "two commits are the same version"
expect "sources inside another repository have their hash" "$(version_of one/docs/inside)" "${archive#*+}"
