"""Makes the pages of the reference from the doc comments in include/redlock.

usage: reference.py ROOT WORK     writes WORK/pages/reference/*.md; prints problems, and exits with 1 if there are any

reference_headers.py reads the headers, reference_comments.py and reference_declarations.py make Markdown and C++ of
what it finds. This module resolves names, finds what the comments lack, and composes the pages.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from reference_comments import Writer, fence, table
from reference_declarations import clean, concept, declaration, default_of, synopsis
from reference_headers import MERGED, collect, header_of, line_of, run_doxygen, short, text_of, where

# A line is a page: its names, or its title and its names.
PAGES = """
Locking
    lock_manager
    lock
    lock_scope
    acquire_options wait_forever renewal
    mode
    resource_set slots
    lock_ticket
    lock_body
Errors and reports
    errc error_category make_error_code
    lock_error
    attempt_report node_report vote retry_after
    lock_info node_lock_info
Settings
    config
    tls_options
    restart_guard
Leader election
    elect elected
    elect_options
    election_event
Fencing
    fence_gate
Stores
    postgresql postgresql_options owns
    mysql mysql_options owns
    etcd etcd_options
    zookeeper zookeeper_options
    sql_statement
    store store_context
Observing
    Logging: log_to_stderr log_sentences log_function log_level
    stats lock_stats group_stats node_stats
    histogram histogram_recorder
    observer observers
    Events: events::* loss
    Prometheus: prometheus_text metrics_source metrics_format metrics_format_for content_type to_metrics
    OpenTelemetry: open_telemetry open_telemetry_options parent_span current_span
HTTP
    Beast: problem_response run_request request_deadline
Testing
    memory_server
    testing::manual_clock testing::lose
    testing::node_cases testing::node_case testing::node_kind
Own nodes
    node
    node_command key_view
    node_operation
    node_reply taken_key
    node_limits
    node_events
    server_identity
Basics
    clock
    Version: REDLOCK_VERSION_MAJOR REDLOCK_VERSION_MINOR REDLOCK_VERSION_PATCH REDLOCK_VERSION_STRING REDLOCK_ABI_VERSION
"""
# The parts of a comment in the order of a page. Other parts come before them.
PARTS = ('Completes', 'Completion signature', 'Template parameters', 'Parameters', 'Returns', 'Throws', 'Errors',
         'Cancellation', 'Lifetime', 'Thread safety')
ASYNC = re.compile(r'(async_|with_)\w+|elect|run_request')
INTERNAL = re.compile(r'\b(detail|locks|runtime|v0)::|REDLOCK_API')
OPERATORS = {'==': 'equal', '=': 'assign', '+=': 'plus-assign', '-=': 'minus-assign', '+': 'plus', '-': 'minus'}


# --- The pages ---

class Site:
    def __init__(self, root, items, comments, problems):
        self.root, self.items, self.comments, self.problems = root, items, comments, problems
        self.pages, self.topics, self.names = {}, {}, {}
        self.umbrella = (root / 'include/redlock.hpp').read_text()
        self.place()
        for item in self.all():
            item.doc = self.describe(item)

    def problem(self, element, text):
        line = f'{where(element)}: {text}'
        if line not in self.problems:
            self.problems.append(line)

    def all(self):
        for item in self.items:
            yield from self.with_members(item)

    def with_members(self, item):
        yield item
        for member in item.members:
            yield from self.with_members(member)

    def place(self):
        """Puts each item on the page that PAGES says, and makes its anchor."""
        for line in PAGES.strip().splitlines():
            if not line.startswith(' '):
                topic = self.topics.setdefault(line, [])
                continue
            title, _, names = line.strip().rpartition(': ')
            names = names.split()
            title = title or names[0]
            page = re.sub(r'\W+', '_', title.rpartition('::')[2].lower())
            topic.append(page)
            self.pages[page] = (title, self.take(page, names, main=names[0] if names[0] == title else None))
        for item in self.items:
            if not item.page:
                self.problem(item.elements[0], f'{item.name} is on no page: name it in PAGES of docs/site/reference.py')

    def take(self, page, names, main):
        header, taken = None, []
        for name in names:
            found = [i for i in self.items if not i.page and (i.name == name or name.endswith('*')
                                                              and i.name.startswith(name[:-1]) or name in i.names)]
            same = [i for i in found if header_of(i.elements[0]) == header]
            found = sorted(found, key=lambda i: line_of(i.elements[0])) if name.endswith('*') else (same or found)[:1]
            if not found:
                self.problems.append(f'docs/site/reference.py:1: PAGES names {name}, which does not exist')
                continue
            header = header or header_of(found[0].elements[0])
            taken += found
        kinds = {i.name for i in taken if i.kind == 'enum'} | {m.full for i in taken for m in i.members if m.kind == 'enum'}
        for to_string in [i for i in self.items if i.name == 'to_string' and not i.page]:
            if short(text_of(to_string.elements[0].find('param/type'))) in kinds:
                taken.append(to_string)
        for item in taken:
            self.name(item, page, '' if item.name == main else item.name.rpartition('::')[2] + '-')
        return taken

    def name(self, item, page, prefix):
        for each in self.with_members(item):
            path = each.full.removeprefix(item.full).removeprefix('::').replace('::', '-')
            if each.owner and is_constructor_of(each):
                path = path.replace(each.name, 'constructors')
            path = path.replace('operator bool', 'operator-bool')
            path = re.sub(r'operator([^\w-]+|-=?)$', lambda o: 'operator-' + OPERATORS.get(o.group(1), 'other'), path)
            each.page, each.anchor = page, prefix + path if path else item.name.rpartition('::')[2]
            scope = each.full.rpartition('::')[0]
            for own in each.names:
                self.names.setdefault(f'{scope}::{own}' if scope else own, each)
            for old in MERGED.get(item.name, ()):
                self.names.setdefault(each.full.replace(item.name, old, 1), each)

    def find(self, name, item):
        name = short(name).removesuffix('()')
        scope = item.full if item else ''
        while True:
            found = self.names.get(f'{scope}::{name}' if scope else name)
            if found and found is not item:
                return found
            if not scope:
                return None
            scope = scope.rpartition('::')[0]

    def is_broken(self, name):
        """Whether @p name looks like a member of a class that has no such member."""
        owner = self.names.get(short(name).rpartition('::')[0])
        return owner is not None and bool(owner.members) and not self.find(name, None)

    def link(self, target, item):
        main = self.pages[target.page][0] == target.name
        if item and item.page == target.page:
            return f'#{target.anchor}'
        return f'{target.page}.md' + ('' if main else f'#{target.anchor}')

    def link_guides(self, text, item, element):
        def guide(found):
            page = self.root / found.group()
            if not page.exists():
                self.problem(element, f'{found.group()} does not exist')
                return found.group()
            title = re.search(r'(?m)^# (.*)', page.read_text()).group(1)
            return f'[{title}](../{found.group(1)})'
        return re.sub(r'docs/([\w/-]+\.md)', guide, text)

    # --- Comments ---

    def comment(self, item, element):
        return Writer(self, item, element).doc(*(element.find(tag) for tag in ('briefdescription', 'detaileddescription')))

    def describe(self, item):
        """One comment for all overloads: (1) tells which overload a text is about."""
        docs = []
        for number, element in enumerate(item.elements, 1):
            doc = self.comment(item, element)
            if doc.text() or not docs:
                docs.append(([], doc))
            docs[-1][0].append(f'({number})')
        docs = [d for d in docs if d[1].text()] or docs[:1]
        if item.kind == 'class' and len(docs) > 1:
            docs = docs[:1]
        if item.group is not None:
            writer = Writer(self, item, item.elements[0])
            docs.insert(0, ([], writer.doc(item.group.find('description'))))
        whole = docs[0][1]
        for numbers, doc in docs[1:] if len(docs) > 1 else []:
            label = ', '.join(numbers) + ' '
            whole.body += [label + b if i == 0 else b for i, b in enumerate(doc.body)]
            for title, blocks in doc.parts.items():
                known = whole.part(title)
                known += [b for b in blocks if b not in known] if title in ('Parameters', 'Throws') else labelled(label, blocks)
        return whole

    def inherit(self, item):
        """A member without a comment has that of the first member with its name on the page."""
        for other in self.pages[item.page][1]:
            for member in other.members:
                if member.name == item.name and member.kind == item.kind and member.doc.text():
                    return member.doc
        return item.doc

    def check(self):
        for item in self.all():
            element = item.elements[0]
            if item.kind == 'variable' and item.page and not item.doc.text():
                item.doc = self.inherit(item)
            if not item.doc.body and not is_special(item):
                self.problem(element, f'{item.full} has no comment that says what it is' if not item.doc.text()
                             else f'{item.full} needs a first sentence, before @throws and the like')
            if re.search(r'\bas above\b|^…|…$', item.doc.text(), re.IGNORECASE):
                self.problem(element, f'{item.full}: "as above" and "…" are riddles on a page: name what is meant')
            if item.kind == 'function' and ASYNC.fullmatch(item.name.rpartition('::')[2]):
                self.check_parts(item)
        headers = {header_of(e) for i in self.items if i.page for e in i.elements}
        for header in sorted((self.root / 'include/redlock').glob('*.hpp')):
            if header.name not in headers:
                self.problems.append(f'include/redlock/{header.name}:1: no page documents this header')

    def check_parts(self, item):
        """An asynchronous function says everything, or names the function that does."""
        parts, text = item.doc.parts, item.doc.text()
        shared = re.findall(r'(?:\b[Aa]s|\bof|\bfor) \[`([\w:]+)`\]', text)
        if any(ASYNC.fullmatch(name.rpartition('::')[2]) for name in shared):
            return
        owner = item.owner.doc.parts if item.owner else {}
        wanted = {'Completes, Completion signature or @return': ('Completes', 'Completion signature', 'Returns'),
                  'Errors or @throws': ('Errors', 'Throws'), 'Cancellation': ('Cancellation',),
                  'Lifetime': ('Lifetime',)}
        missing = [text for text, titles in wanted.items() if not any(t in parts for t in titles)]
        if 'Thread safety' not in parts and 'Thread safety' not in owner:
            missing.append('Thread safety (or in the comment of the class)')
        if missing:
            self.problem(item.elements[0], f'{item.full} lacks: {"; ".join(missing)}')

    # --- Pages ---

    def page(self, page):
        title, items = self.pages[page]
        headers = list(dict.fromkeys(header_of(i.elements[0]) for i in items))
        lines = [f'# {title}' if items[0].name != title else f'# {title} {{#{items[0].anchor}}}']
        lines.append('Header: ' + ', '.join(f'`<redlock/{h}>`' for h in headers)
                     + (' or `<redlock.hpp>`' if all(f'<redlock/{h}>' in self.umbrella for h in headers) else ''))
        if items[0].name == title:
            lines += self.section(items[0], 1)
            items = items[1:]
        else:
            lines += self.introduction(title, items)
        for item in items:
            lines += [f'## {item.title} {{#{item.anchor}}}'] + self.section(item, 2)
        return '\n\n'.join(lines) + '\n'

    def introduction(self, title, items):
        comment = self.comments.get(title.lower(), self.comments.get(header_of(items[0].elements[0])))
        doc = self.comment(items[0], comment)
        if not doc.body:
            self.problem(comment, f'no @file comment, which would begin the page {title}')
        rows = [[f'[`{i.title}`](#{i.anchor})', i.doc.sentence] for i in items]
        return doc.body + [table(['Name', 'Meaning'], rows)]

    def section(self, item, level):
        if item.kind == 'class':
            return self.class_section(item, level)
        lines = self.text(item)
        if item.kind == 'enum':
            numbers = [text_of(m.elements[0].find('initializer')).removeprefix('= ') for m in item.members]
            rows = [[f'`{m.name}`{{#{m.anchor}}}', number, ' '.join(m.doc.body)]
                    for m, number in zip(item.members, numbers)]
            return lines + [fence(declaration(item.elements[0])), table(['Value', 'Number', 'Meaning'], rows)]
        if item.kind == 'concept':
            return lines + [fence(concept(item.elements[0]))]
        numbers = len(item.elements) > 1 and item.kind == 'function'
        code = '\n'.join(f'{declaration(e)}{f"  // ({i})" if numbers else ""}' for i, e in enumerate(item.elements, 1))
        return [fence(code)] + lines

    def text(self, item):
        doc, lines = item.doc, list(item.doc.body)
        parts = dict(doc.parts)
        owner = item.owner.doc.parts.get('Thread safety') if item.owner and item.kind == 'function' \
            and not is_constructor_of(item) else None
        if owner and 'Thread safety' not in parts and any(ASYNC.fullmatch(m.name) for m in item.owner.members):
            parts['Thread safety'] = ['As for the class: ' + owner[0]] + owner[1:]
        titles = [t for t in parts if t not in PARTS] + [t for t in PARTS if t in parts]
        for title in titles:
            blocks = parts[title]
            if title in ('Parameters', 'Template parameters', 'Throws') and all(b.startswith('- ') for b in blocks):
                blocks = ['\n'.join(blocks)]
            if blocks and not blocks[0].startswith(('- ', '|', '`' * 3)):
                lines += [f'**{title}:** {blocks[0]}'] + blocks[1:]
            else:
                lines += [f'**{title}:**'] + blocks
        return lines

    def class_section(self, item, level):
        lines = self.text(item)
        if item.name in MERGED:
            lines.insert(1, f'`{item.name}` is `{MERGED[item.name][0]}<asio::any_io_executor>`.')
        lines.append(fence(synopsis(item)))
        variables = [m for m in item.members if m.kind == 'variable']
        others = [m for m in item.members if m.kind != 'variable' and (m.doc.body or not is_special(m))]
        if variables:
            rows = [[self.entry(m), self.type_of(m), default_of(m.elements[0]), m.doc.sentence] for m in variables]
            lines.append(table(['Member', 'Type', 'Default', 'Meaning'], rows))
        if others:
            lines.append(table(['Member', 'Meaning'], [[self.entry(m), m.doc.sentence] for m in others]))
        for member in variables + others:
            if is_long(member):
                lines += [f'{"#" * (level + 1)} {heading_of(member)} {{#{member.anchor}}}'] + self.section(member, level + 1)
        return lines

    def entry(self, member):
        name = heading_of(member)
        return f'[`{name}`](#{member.anchor})' if is_long(member) else f'`{name}`{{#{member.anchor}}}'

    def type_of(self, member):
        type_ = clean(text_of(member.elements[0].find('type')))
        if type_.endswith('(*'):
            type_ += clean(member.elements[0].findtext('argsstring'))
        target = self.find(type_, member)
        return f'[`{type_}`]({self.link(target, member)})' if target else f'`{type_}`'

    def index(self):
        lines = ['# Reference', 'All names are in the namespace `redlock`. `<redlock.hpp>` includes the core; a page says '
                 'so if its header must be included separately.']
        for topic, pages in self.topics.items():
            rows = []
            for page in pages:
                title, items = self.pages[page]
                rows += [[f'[`{i.title}`]({self.link(i, None)})', re.sub(r'\]\(#', f']({page}.md#', i.doc.sentence)]
                         for i in items]
            lines += [f'## {topic}', table(['Name', 'Meaning'], rows)]
        lines.append('## All names')
        letters = {}
        for full, item in self.names.items():
            name = full.rpartition('::')[2]
            if item.kind != 'value' and name[0].isalpha() and not is_constructor_of(item) and item.doc.body \
                    and not full.startswith('basic_'):
                letters.setdefault(name[0].upper(), {}).setdefault(name, {}).setdefault(item, full)
        for letter in sorted(letters):
            names = sorted(letters[letter].items(), key=lambda entry: entry[0].lower())
            entries = [', '.join(f'[`{full}`]({self.link(i, None)})' for i, full in found.items()) for _, found in names]
            lines += [f'### {letter}', '\n'.join('- ' + e for e in entries)]
        return '\n\n'.join(lines) + '\n'


def heading_of(member):
    return 'Constructors' if is_constructor_of(member) else member.title


def is_constructor_of(member):
    return member.kind == 'function' and member.owner and member.name.removeprefix('basic_') == member.owner.name.rpartition('::')[2]


def is_special(item):
    """A member that every reader knows: a destructor, an assignment, a comparison, an override, a defaulted function."""
    if item.kind != 'function':
        return item.kind == 'typedef' and item.name == 'other'  # of rebind_executor
    if item.name.startswith(('~', 'operator=')):
        return True
    return all(re.search(r'= ?(default|delete)$|override$', e.findtext('argsstring')) or e.findtext('argsstring').startswith('()')
               and item.owner and is_constructor_of(item) for e in item.elements)


def is_long(member):
    """Whether the table does not say everything about @p member."""
    return member.kind in ('function', 'enum') or member.doc.text().rstrip('.:') != member.doc.sentence.rstrip('.')


def labelled(label, blocks):
    return [label + b if i == 0 and not b.startswith(('- ', '|')) else b for i, b in enumerate(blocks)]


def write(root, work):
    """Writes the pages. Returns their navigation for mkdocs, and the problems: "file:line: what is wrong"."""
    root, work = root.resolve(), work.resolve()
    compounds, problems = run_doxygen(root, work)
    site = Site(root, *collect(compounds), problems)
    site.check()
    folder = work / 'pages/reference'
    folder.mkdir(parents=True, exist_ok=True)
    texts = {'index': site.index()} | {page: site.page(page) for page in site.pages}
    for page, text in texts.items():
        (folder / f'{page}.md').write_text(text)
        for number, line in enumerate(text.splitlines(), 1):
            if INTERNAL.search(line):
                problems.append(f'{folder.relative_to(work)}/{page}.md:{number}: shows an internal name: {line.strip()}')
    nav = [{'Overview': 'reference/index.md'}]
    nav += [{topic: [{site.pages[p][0]: f'reference/{p}.md'} for p in pages]} for topic, pages in site.topics.items()]
    return nav, problems


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit('usage: reference.py ROOT WORK')
    found = write(*map(pathlib.Path, sys.argv[1:]))[1]
    print('\n'.join(found))
    sys.exit(bool(found))
