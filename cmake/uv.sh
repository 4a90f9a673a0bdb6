# Sourced by the scripts that install Python packages, after they set `root`. uv takes a tenth of the time of pip; it looks where pip is
# set to look (index, folders of wheels), and comes from there itself, into .venv-uv.
export UV_PYTHON_DOWNLOADS=never UV_HTTP_TIMEOUT=10 UV_NO_CONFIG=1

# uv ARGUMENT...: runs it, and fails where it is not to be had.
uv() {
  local venv=$root/.venv-uv version=0.13.9 settings index
  if [ "$(cat "$venv/.packsim-uv" 2>/dev/null)" != "$version" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv" >/dev/null || return 1
    "$venv/bin/pip" -qq --disable-pip-version-check install --retries 0 --timeout 10 "uv==$version" || return 1
    echo "$version" > "$venv/.packsim-uv"
  fi
  settings=$("$venv/bin/pip" config list)
  pip_setting() { sed -n "s/.*\.$1='\(.*\)'$/\1/p" <<< "$settings" | tail -1; }
  index=$(pip_setting index-url)
  UV_FIND_LINKS=$(pip_setting find-links) "$venv/bin/uv" --system-certs --quiet "$@" ${index:+--default-index "$index"}
}

# new_environment FOLDER: an empty one of python3.
new_environment() { rm -rf "$1" && uv venv --python "$(command -v python3)" "$1"; }

# install_into FOLDER ARGUMENT...: into that environment.
install_into() { uv pip install --python "$1/bin/python" "${@:2}"; }
