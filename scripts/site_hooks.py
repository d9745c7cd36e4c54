"""mkdocs' hooks (mkdocs.yml): the decisions in the navigation, links that leave docs/, and lists right behind a line.

The pages are read in the sources too, where a link such as ../deploy/README.md works. The site has no such file: there
the path stands beside the link's text. A path that does not exist is a warning, and so fails a strict build. And a list
that begins right behind a line of text is one in the sources, but for mkdocs only behind an empty line."""

import logging
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)(#[^)]*)?\)")
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
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

    return LINK.sub(plain, apart(markdown))


def apart(markdown):
    """Lists apart from the lines before them, and a second paragraph of an item as deep as mkdocs wants it; not in code."""
    lines, is_code = [], False
    for line in markdown.split("\n"):
        before = lines[-1] if lines else ""
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and ITEM.match(line) and before.strip() and not ITEM.match(before) and not before.startswith(" "):
            lines.append("")
        elif not is_code and not before and re.match(r" {2,3}\S", line):
            line = "    " + line.lstrip()
        lines.append(line)
    return "\n".join(lines)
