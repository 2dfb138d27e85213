"""What mkdocs.yml leaves open: the pages that are made, links out of the folder docs, search without a server."""

import json
import posixpath
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here))
import reference  # noqa: E402

root = here.parent.parent
work = Path()  # the folder of all that is made, beside the site
made = Path()  # its pages, which are not in the tree
names = {}  # the names of the library, by their places in the site

# Files of the tree that are pages of the site under another name.
renamed = {
    "README.md": "index.md",
    "docs/README.md": "documents.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.md",
}
languages = {".cpp": "cpp", ".hpp": "cpp", ".sh": "sh", ".sql": "sql", ".yml": "yaml", ".yaml": "yaml",
             ".json": "json", ".html": "html", ".conf": "ini", ".py": "python", ".mjs": "js", ".go": "go"}
# Words for the search that a section does not contain, such as those of its readers: a comment below its heading.
search_words = re.compile(r"<!-- words: (.*?) -->")
# Below the picture of the start page.
buttons = """
[Begin](tutorial.md){ .md-button .md-button--primary }
[Is it for me?](for-you.md){ .md-button }
[Cheat sheet](cheat-sheet.md){ .md-button }
"""
link = re.compile(r"(\]\()([^)\s]+)(\))")
# A list of links to headings of its page, which the theme shows beside the page.
contents = re.compile(r"(?<=\n\n)(?: *(?:- )?(?:\[[^\]\n]*\]\(#[^)\n]*\)[:,]? ?)+\n){3,}(?=\n)")
code = re.compile(r"^```.*?^```[^\n]*$|`[^`\n]*`", re.M | re.S)


def stop(problems):
    if problems:
        raise PluginError("\n".join(problems))


def in_tree(uri):
    """The path in the tree of the page `uri`."""
    for source, page in renamed.items():
        if page == uri:
            return source
    return "docs/" + uri


def address(path):
    """The page that shows the file or folder `path` of the tree, without its extension .html."""
    if path in renamed:
        return renamed[path]
    if path.startswith("docs/") and Path(path).suffix in (".md", ".png"):
        return path[len("docs/"):]
    if path.startswith("include/redlock/") and (made / "reference" / f"{Path(path).stem}.md").exists():
        return f"reference/{Path(path).stem}.md"
    shown = path[len("docs/"):] if path.startswith("docs/") else "source/" + path
    return shown + ("/index.md" if (root / path).is_dir() else ".md")


def links_of(path):
    """The files and folders of the tree to which the page `path` of the tree links."""
    text = code.sub("", (root / path).read_text())
    for _, target, _ in link.findall(text):
        parts = urlsplit(target)
        if not parts.scheme and parts.path:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(path), parts.path)), target


def write(uri, text):
    page = made / uri
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text)


def quoted_on(path):
    """Links to the guides that quote the file `path`."""
    here = posixpath.dirname(address(path))
    for guide in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = guide.read_text()
        if f"<!-- quote {path} " in text:
            page = address(guide.relative_to(root).as_posix())
            yield f"[{re.search('(?m)^# (.*)', text)[1]}]({posixpath.relpath(page, here)})"


def source_page(path, folder=""):
    """A page that shows the file `path`; `folder` is the link to the page of its folder."""
    text = (root / path).read_text()
    fence = "````" if "```" in text else "```"
    guides = ", ".join(quoted_on(path))
    write(address(path), f"# {Path(path).name}\n\n{folder}`{path}`{', explained in ' if guides else ''}{guides}\n\n"
          f"{fence}{languages.get(Path(path).suffix, '')}\n{text.rstrip()}\n{fence}\n")


def first_comment(path):
    """The first sentence of the comment with which an example begins."""
    found = re.search(r"\A(?:#!.*\n)?((?:(?://|#|--) ?.*\n)+)", (root / path).read_text())
    text = " ".join(re.sub(r"^(//|#|--) ?", "", line) for line in found[1].splitlines()) if found else ""
    return re.split(r"(?<=[.:])\s", text, maxsplit=1)[0]


def folder_page(path):
    """A page that lists the files of the folder `path`, and a page for each."""
    title = "Examples" if path == "docs/examples" else Path(path).name
    lines = [f"# {title}\n", f"The files of `{path}`.\n", "| file | |", "|---|---|"]
    hidden = ("CMakeLists.txt", ".cmake")
    for file in sorted((root / path).iterdir(), key=lambda f: (f.is_dir(), f.name)):
        if file.name.endswith(hidden):
            continue
        name = f"{path}/{file.name}"
        folder_page(name) if file.is_dir() else source_page(name, f"[{title}](index.md): ")
        about = "" if file.is_dir() else first_comment(name)
        there = posixpath.relpath(address(name), posixpath.dirname(address(path)))
        lines.append(f"| [{file.name}]({there}) | {about} |")
    write(address(path), "\n".join(lines) + "\n")


def on_config(config):
    global work, made, names
    work = Path(config["site_dir"]).parent
    made = work / "pages"
    nav, names, problems = reference.write(root, work)
    stop(problems)
    for section in config["nav"]:
        if "Reference" in section:
            section["Reference"] += nav
    return config


def on_files(files, config):
    pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    guides = [f for f in files if Path(f.abs_src_path).is_relative_to(root / "docs")]  # the others are the theme's
    pages += [in_tree(f.src_uri) for f in guides if f.src_uri.endswith(".md")]
    for file in guides:
        if not file.src_uri.endswith((".md", ".png", ".css")) or file.src_uri == "README.md":
            files.remove(file)
    for path, uri in renamed.items():
        text = (root / path).read_text()
        write(uri, text if path.endswith(".md") else f"# Licence\n\n```\n{text}```\n")
    wanted = {"docs/examples"} | {target for page in pages for target, _ in links_of(page)}
    for path in sorted(wanted):
        is_made = path in renamed or address(path).startswith("reference/")
        if address(path) not in files and not is_made and (root / path).exists():
            folder_page(path) if (root / path).is_dir() else source_page(path)
    for page in sorted(made.rglob("*.md")):
        uri = page.relative_to(made).as_posix()
        files.append(File(uri, str(made), config["site_dir"], False))
    return files


def on_nav(nav, config, files):
    """Fails if a reader cannot reach a guide by the navigation."""
    reached = {page.file.src_uri for page in nav.pages}
    stop([f"docs/site/mkdocs.yml: nav lacks {file.src_uri}" for file in files.documentation_pages()
          if file.src_uri not in reached and (root / in_tree(file.src_uri)).exists()])


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri.startswith(("reference/", "examples/", "source/")):
        return markdown
    path = in_tree(page.file.src_uri)
    folder = posixpath.dirname(page.file.src_uri)

    def moved(match):
        parts = urlsplit(match[2])
        if parts.scheme or not parts.path:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), parts.path))
        there = posixpath.relpath(address(target), folder or ".")
        return match[1] + there + (f"#{parts.fragment}" if parts.fragment else "") + match[3]

    markdown = search_words.sub(r"<p hidden>⟦\1⟧</p>", contents.sub("", markdown))
    pieces, end = [], 0
    for block in code.finditer(markdown):
        pieces += [link.sub(moved, markdown[end:block.start()]), block[0]]
        end = block.end()
    markdown = "".join(pieces) + link.sub(moved, markdown[end:])
    return re.sub(r"(?m)^!\[.*\n", lambda picture: picture[0] + buttons, markdown, count=1) if path == "README.md" else markdown


class Page(HTMLParser):
    """The anchors of a page, its links, and what the browser loads for it."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("script", "img", "iframe") and values.get("src"):
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("href"):
            self.loaded.append(values["href"])


def check_links(site):
    """Fails if a link leads nowhere, or if a page loads anything from elsewhere."""
    pages = {file: Page(file.read_text()) for file in site.rglob("*.html")}
    problems = []
    for file, page in sorted(pages.items()):
        name = file.relative_to(site)
        for target in page.loaded:
            if urlsplit(target).scheme or target.startswith("//"):
                problems.append(f"{name}: {target} would be loaded from elsewhere")
        for target in page.links + page.loaded:
            parts = urlsplit(target)
            if parts.scheme:
                continue
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not there.is_file():
                problems.append(f"{name}: {target} is not there")
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
                problems.append(f"{name}: {target}: there is no such heading")
    stop(problems)


def on_post_build(config):
    site = Path(config["site_dir"])
    search = site / "search"
    index = json.loads((search / "search_index.json").read_text())
    # Sources are read beside a page that explains them; in a list of results they would only hide it.
    files = ("examples/", "monitoring/", "source/", "sql/")
    index["docs"] = [doc for doc in index["docs"] if not doc["location"].startswith(files)]
    for doc in index["docs"]:  # in a list of results, a member needs its class: events::lost
        own = names.get(doc["location"], doc["title"]).replace("basic_", "")
        doc["title"] = f"{own.split('::')[0]}: {doc['title']}" if doc["title"] == "Constructors" else own
    for before, doc in zip([None, *index["docs"]], index["docs"]):
        words = re.findall("⟦(.*?)⟧", doc["text"])
        doc["text"] = re.sub(" ?⟦.*?⟧", "", doc["text"])
        if words and "#" in doc["location"]:  # the text of a page has those of all its sections
            of_page = "#" not in before["location"]  # the theme shows the first section as the page
            (before if of_page else doc)["tags"] = words[0].split(", ")
    for doc in index["docs"]:  # guides, and the manager with its locks, before the rest of the reference
        is_rest = re.match(r"reference/(?!(lock|lock_manager)\.html)", doc["location"])
        doc["boost"] = 0.5 if is_rest else 1
    (search / "index.js").write_text(f"redlock_search_index({json.dumps(index, separators=(',', ':'))})\n")
    for file in (search / "search_index.json", *site.glob("sitemap.*"), site / "404.html"):  # for servers
        file.unlink()
    worker = next((site / "assets/javascripts/workers").glob("search.*.js")).read_text()
    # Older versions of the theme do not hand the boost over.
    worker = re.sub(r"(for\(let (\w+) of \w+\))this\.add\(\2\)", r"\1this.add(\2,{boost:\2.boost})", worker)
    script = (here / "assets/offline.js").read_text()
    (search / "offline.js").write_text(script.replace('/* the worker\'s source */ ""', json.dumps(worker)))
    check_links(site)
