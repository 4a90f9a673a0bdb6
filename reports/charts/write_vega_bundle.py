"""Writes the JavaScript that draws the charts, and its versions, into a folder. The build runs this."""

import pathlib
import sys

import vl_convert

VEGA_LITE_VERSION = "6.4"  # the specs beside this file are written for it


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # Sets window.vega, window.vegaLite and window.vegaEmbed.
    bundle = vl_convert.javascript_bundle(vl_version=VEGA_LITE_VERSION)
    # The page holds the bundle in a <script>, which either of these would end or change.
    for unsafe in ("</script", "<!--"):
        if unsafe in bundle.lower():
            sys.exit(f"the Vega bundle contains {unsafe!r} and cannot be put into a page")
    (folder / "vega_bundle.js").write_text(bundle, encoding="utf-8")
    versions = (
        f"Vega {vl_convert.get_vega_version()}, Vega-Lite {VEGA_LITE_VERSION}, "
        f"Vega-Embed {vl_convert.get_vega_embed_version()}"
    )
    (folder / "vega_versions.txt").write_text(versions, encoding="utf-8")


if __name__ == "__main__":
    main()
