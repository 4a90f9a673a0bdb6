# Sourced by the tests of this folder.

# Installs a component of a build folder, and prints where it lies after it was moved.
install_and_move() {
  local build=$1 component=$2 work=$3
  rm -rf "$work"
  mkdir -p "$work"
  cmake --install "$build" --prefix "$work/as installed" --component "$component" >"$work/install.log"
  mv "$work/as installed" "$work/moved"
  echo "$work/moved"
}

expect() {
  local what=$1 expected=$2 got=$3
  if [[ $got != "$expected" ]]; then
    echo "$what: expected"$'\n'"$expected"$'\n'"got"$'\n'"$got" >&2
    exit 1
  fi
}
