"""Draws Vega-Lite specs: `packsim plot` starts this with `python -c` and writes a request to its stdin.

The request is {"format": "svg" or "png", "scale": a number, "specs": {name: spec}}. The pictures are written
to stdout in this order, each behind a line with its size in bytes. Exit code 75: there is no vl_convert.
"""

import sys

sys.path[:] = [folder for folder in sys.path if folder]  # no module comes from the folder it is started in

import json  # noqa: E402
import re  # noqa: E402

NO_VL_CONVERT = 75


def main() -> None:
    try:
        import vl_convert
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(NO_VL_CONVERT)
    request = json.load(sys.stdin.buffer)
    for name, spec in request["specs"].items():
        try:
            picture = draw(vl_convert, spec, request["format"], request["scale"])
        except Exception as error:  # whatever vl-convert does not draw
            sys.exit(f"{name}: {error}")
        sys.stdout.buffer.write(b"%d\n" % len(picture) + picture)


def draw(vl_convert, spec: dict, picture_format: str, scale: float) -> bytes:
    """allowed_base_urls: a spec loads nothing, neither files nor what a network has."""
    options = {"vl_version": version_for(vl_convert, spec), "allowed_base_urls": []}
    if picture_format == "svg":
        return vl_convert.vegalite_to_svg(spec, **options).encode()
    return vl_convert.vegalite_to_png(spec, scale=scale, **options)


def version_for(vl_convert, spec: dict) -> str:
    """The newest Vega-Lite of the major version that the spec is written for."""
    major = re.search(r"/v(\d+)", spec.get("$schema", ""))
    known = vl_convert.get_vegalite_versions()
    fitting = [version for version in known if major and version.split(".")[0] == major[1]]
    if not fitting:
        raise ValueError(f"expected a spec for Vega-Lite {', '.join(known)}, got {spec.get('$schema')}")
    return max(fitting, key=lambda version: [int(part) for part in version.split(".")])


if __name__ == "__main__":
    main()
