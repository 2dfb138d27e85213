"""Composes the pages of the reference."""
import re

from reference_checks import is_async, is_special
from reference_comments import Writer, fence, is_text, table
from reference_declarations import clean, concept, declaration, default_of, synopsis
from reference_headers import MERGED, header_of, is_constructor, last, text_of

# The parts of a comment in the order of a page. Other parts come before them.
PARTS = ('Completes', 'Completion signature', 'Template parameters', 'Parameters', 'Returns', 'Throws', 'Errors',
         'Cancellation', 'Lifetime', 'Thread safety')


class Pages:
    def __init__(self, site, introductions):
        self.site, self.introductions = site, introductions
        self.core = included(site.root / 'include', 'redlock.hpp')
        self.examples = {path.name: path.read_text() for path in site.root.glob('docs/examples/*.cpp')}

    def all(self):
        yield 'index', self.index()
        for page, (title, items) in self.site.pages.items():
            yield page, self.page(title, items)

    def page(self, title, items):
        headers = list(dict.fromkeys(header_of(item.elements[0]) for item in items))
        include = 'Header: ' + ', '.join(f'`<redlock/{h}>`' for h in headers)
        include += ' or `<redlock.hpp>`' if all(f'redlock/{h}' in self.core for h in headers) else ''
        if items[0].name == title:
            lines = [f'# {title} {{#{items[0].anchor}}}', include] + self.section(items[0], 1)
            items = items[1:]
        else:
            lines = [f'# {title}', include] + self.introduction(title, items)
        for item in items:
            lines += [f'## {item.title} {{#{item.anchor}}}'] + self.section(item, 2)
        return '\n\n'.join(lines) + '\n'

    def introduction(self, title, items):
        """The comment of the namespace or of the file, and the names on the page."""
        comment = self.introductions.get(title.lower(), self.introductions.get(header_of(items[0].elements[0])))
        doc = Writer(self.site, items[0], comment).comment()
        if not doc.body:
            self.site.problem(comment, f'no @file comment, which would begin the page {title}')
        return doc.body + [table(['Name', 'Meaning'], [[f'[`{i.title}`](#{i.anchor})', i.doc.sentence] for i in items])]

    # --- Sections ---

    def section(self, item, level):
        """The text of @p item below its heading of @p level."""
        if item.kind == 'class':
            return self.of_class(item, level)
        if item.kind == 'enum':
            rows = [[f'`{m.name}`{{#{m.anchor}}}', text_of(m.elements[0].find('initializer')).removeprefix('= '),
                     ' '.join(m.doc.body)] for m in item.members]
            return self.text(item) + [fence(declaration(item.elements[0])), table(['Value', 'Number', 'Meaning'], rows)]
        if item.kind == 'concept':
            return self.text(item) + [fence(concept(item.elements[0]))]
        codes = [declaration(element) for element in item.elements]
        if item.kind == 'function' and len(codes) > 1:
            codes = [f'{code}  // ({number})' for number, code in enumerate(codes, 1)]
        return [fence('\n'.join(codes))] + self.text(item)

    def of_class(self, item, level):
        lines = self.text(item)
        if item.name in MERGED:
            lines.insert(1, f'`{item.name}` is `{MERGED[item.name][0]}<asio::any_io_executor>`.')
        lines.append(fence(synopsis(item)))
        variables = [m for m in item.members if m.kind == 'variable']
        others = [m for m in item.members if m.kind != 'variable' and (m.doc.body or not is_special(m))]
        if variables:
            rows = [[entry(m, level), self.type_of(m), default_of(m.elements[0]), meaning(m, level)] for m in variables]
            lines.append(table(['Member', 'Type', 'Default', 'Meaning'], rows))
        if others:
            rows = [[entry(m, level), meaning(m, level) + self.arguments_of(m, level)] for m in others]
            lines.append(table(['Member', 'Meaning'], rows))
        for member in variables + others:
            if is_long(member, level):
                lines.append(f'{"#" * (level + 1)} {heading_of(member)} {{#{member.anchor}}}')
                lines += self.section(member, level + 1)
        return lines

    def text(self, item):
        """The comment: its text, and its parts in their order."""
        lines, parts = list(item.doc.body), dict(item.doc.parts)
        is_call = item.kind == 'function' and not is_constructor(item) and not is_special(item)
        of_class = item.owner.doc.parts.get('Thread safety') if item.owner else None
        if is_call and of_class and any(is_async(m) for m in item.owner.members):
            first = re.split(r'(?<=\.)\s', of_class[0], maxsplit=1)[0]
            parts.setdefault('Thread safety', [f'As for [`{item.owner.name}`](#{item.owner.anchor}): {first}'])
        for title in [t for t in parts if t not in PARTS] + [t for t in PARTS if t in parts]:
            blocks = parts[title]
            if all(b.startswith('- ') for b in blocks):
                blocks = ['\n'.join(blocks)]
            lines += [f'**{title}:** {blocks[0]}'] + blocks[1:] if is_text(blocks[0]) else [f'**{title}:**'] + blocks
        return lines + self.examples_of(item)

    def examples_of(self, item):
        """Links to the shortest example programs that use @p item."""
        is_call = item.kind == 'function' and not is_constructor(item) and not is_special(item)
        usual = ('lock', 'lock_manager')  # each program has them, by other names
        if not is_call and (item.kind != 'class' or item.owner or item.name in usual) or item.name == 'get_executor':
            return []
        used = rf'(\.|redlock::){last(item.name)}\(' if is_call else rf'redlock::{item.name}\b'
        owner = rf'\b{last(item.owner.name)}\b' if item.owner and item.owner.name not in usual else ''
        found = [name for name, text in self.examples.items() if re.search(used, text) and re.search(owner, text)]
        links = [f'[`{name}`](../examples/{name}.md)'
                 for name in sorted(found, key=lambda name: (len(self.examples[name]), name))[:3]]
        return [f'**Examples:** {", ".join(links)}'] if links else []

    def arguments_of(self, function, level):
        """Links to the types that a function without a section takes."""
        if function.kind != 'function' or is_long(function, level):
            return ''
        types = [clean(text_of(p.find('type'))).removesuffix('&').removesuffix(' const')
                 for p in function.elements[0].findall('param')]
        links = [f'[`{t}`]({self.site.link(found, function.page)})' for t in types
                 if (found := self.site.find(t, function)) and found.page != function.page]
        return f' Takes {", ".join(links)}.' if links else ''

    def type_of(self, variable):
        element = variable.elements[0]
        code = clean(text_of(element.find('type')) + (element.findtext('argsstring') or ''))
        target = next((t for name in re.findall(r'[\w:]+', code) if (t := self.site.find(name, variable))), None)
        return f'[`{code}`]({self.site.link(target, variable.page)})' if target else f'`{code}`'

    # --- The index ---

    def index(self):
        lines = ['# Reference', 'All names are in the namespace `redlock`. Each page names its header; '
                 '`<redlock.hpp>` includes the core.']
        for topic, pages in self.site.topics.items():
            rows = [[f'[`{item.title}`]({self.site.link(item, None)})',
                     item.doc.sentence.replace('](#', f']({page}.md#')]
                    for page in pages for item in self.site.pages[page][1]]
            lines += [f'## {topic}', table(['Name', 'Meaning'], rows)]
        lines.append('## All names')
        for letter, names in sorted(self.by_letter().items()):
            entries = [', '.join(f'[`{full}`]({self.site.link(item, None)})' for item, full in names[name].items())
                       for name in sorted(names, key=str.lower)]
            lines += [f'**{letter}**', '\n'.join('- ' + e for e in entries)]
        return '\n\n'.join(lines) + '\n'

    def by_letter(self):
        """By the first letter and the last part of a name: the items that have it, with their full names."""
        letters = {}
        for full, item in self.site.names.items():
            name = last(full)
            is_listed = item.doc.body or not is_special(item)
            if is_listed and item.kind != 'value' and not is_constructor(item) and not full.startswith('basic_'):
                letters.setdefault(name[0].upper(), {}).setdefault(name, {}).setdefault(item, full)
        return letters


def included(folder, header):
    """The names of @p header and of all headers of the library that it includes."""
    names, todo = set(), [header]
    while todo:
        if (name := todo.pop()) not in names:
            names.add(name)
            todo += re.findall(r'#include <(redlock/[^>]+)>', (folder / name).read_text())
    return names


def heading_of(member):
    return 'Constructors' if is_constructor(member) else member.title.replace('~basic_', '~')


def meaning(member, level):
    """What a table says about @p member: its first sentence, or all of a short text about a small class."""
    body = member.doc.body
    return body[0].removesuffix(':') if level > 1 and len(body) == 1 and is_text(body[0]) else member.doc.sentence


def is_long(member, level):
    """Whether the table does not say everything about @p member."""
    return member.kind in ('enum', 'class') or len(member.elements) > 1 \
        or member.doc.text().rstrip('.:') != meaning(member, level).rstrip('.:')


def entry(member, level):
    """The name in a table: a link to its section, or the anchor itself."""
    name = heading_of(member)
    return f'[`{name}`](#{member.anchor})' if is_long(member, level) else f'`{name}`{{#{member.anchor}}}'
