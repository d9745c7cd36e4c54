"""mkdocs' hooks (mkdocs.yml): the decisions in the navigation, and links that leave docs/.

The pages are read in the sources too, where a link such as ../deploy/README.md works. The site has no such file: there
the path stands beside the link's text. A path that does not exist is a warning, and so fails a strict build."""

import logging
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)(#[^)]*)?\)")
warnings = logging.getLogger("mkdocs.hooks.site")


def on_config(config):
    found = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    for part in config.nav:
        if "Decisions" in part:
            part["Decisions"] += [f"decisions/{name}" for name in found]
    return config


def on_page_markdown(markdown, page, config, files):
    folder = pathlib.PurePosixPath("docs", page.file.src_uri).parent

    def plain(link):
        text, path = link[1], os.path.normpath(folder / link[2])
        if path.startswith("docs/"):
            return link[0]
        if not (ROOT / path).exists():
            warnings.warning("%s: there is no %s", page.file.src_uri, path)
        return f"`{path}`" if text.strip("`") in (path, path + "/", os.path.dirname(path) + "/") else f"{text} (`{path}`)"

    return LINK.sub(plain, markdown)
