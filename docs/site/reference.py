"""Makes the pages of the reference from the doc comments in include/redlock.

usage: reference.py ROOT WORK     writes WORK/pages/reference/*.md; prints problems, and exits with 1 if there are any

reference_headers.py reads the headers. reference_comments.py and reference_declarations.py make Markdown and C++ of
what it finds. This module puts the names on pages and resolves links; reference_pages.py composes the pages, and
reference_checks.py finds what the comments lack.
"""
import pathlib
import re
import shutil
import sys

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from reference_checks import check, internal_names
from reference_comments import Writer
from reference_headers import (MERGED, collect, header_of, is_constructor, last, line_of, run_doxygen, short, text_of,
                               where)
from reference_pages import Pages

# A line is a page: its names, or its title and its names. A function to_string is on the page of its enum.
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
    attempt_report node_report vote quarantine_reason retry_after
    shutdown_options
    lock_info node_lock_info reader_info waiting_info break_info node_break_info
    list_options lock_page node_list_info
Settings
    manager_options config
    tls_options
    credentials credentials_request credentials_function
    restart_guard
Leader election
    elect elected
    elect_options election_listener
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
    Commands: node_command commands::* key_view
    node_operation
    node_reply taken_key key_details
    node_limits
    node_events
    server_identity
    plain_store make_plain_node plain_node_options
Basics
    clock
    Version: REDLOCK_*
"""
OPERATORS = {'==': 'equal', '=': 'assign', '+=': 'plus-assign', '-=': 'minus-assign', '+': 'plus', '-': 'minus',
             ' bool': 'bool'}


class Site:
    """All names with their pages, anchors and comments."""

    def __init__(self, root, items, problems):
        self.root, self.items, self.problems = root, items, problems
        self.topics = {}  # the pages of each topic
        self.pages = {}  # the title and the items of each page
        self.names = {}  # from the name that programs use to its item
        self.place()
        for item in self.all():
            item.doc = self.describe(item)

    def problem(self, element, text):
        line = f'{where(element)}: {text}'
        if line not in self.problems:
            self.problems.append(line)

    def all(self):
        return [each for item in self.items for each in item.with_members()]

    # --- Pages and anchors ---

    def place(self):
        """Puts each item on the page that PAGES says, and makes its anchor."""
        for line in PAGES.strip().splitlines():
            if not line.startswith(' '):
                topic = self.topics.setdefault(line, [])
                continue
            title, _, names = line.strip().rpartition(': ')
            names = names.split()
            title = title or names[0]
            page = last(title).lower()
            items = self.take(names)
            if items:
                topic.append(page)
                self.pages[page] = (title, items)
            for item in items:
                self.name(item, page, '' if item.name == title else last(item.name) + '-')
        for item in self.items:
            if not item.page:
                self.problem(item.elements[0], f'{item.name} is on no page: name it in PAGES of docs/site/reference.py')

    def take(self, names):
        """The items that a line of PAGES names. Of equal names, it takes that of the first one's header."""
        taken = []
        for name in names:
            found = [i for i in self.items if not i.page and (i.name == name or name in i.names)]
            if name.endswith('*'):
                several = [i for i in self.items if i.name.startswith(name[:-1])]
                taken += sorted(several, key=lambda i: line_of(i.elements[0]))
            elif found:
                same = [i for i in found if taken and header_of(i.elements[0]) == header_of(taken[0].elements[0])]
                taken.append((same or found)[0])
            else:
                self.problems.append(f'docs/site/reference.py:1: PAGES names {name}, which does not exist')
        enums = {e.full for item in taken for e in item.with_members() if e.kind == 'enum'}
        return taken + [i for i in self.items if i.name == 'to_string'
                        and short(text_of(i.elements[0].find('param/type'))) in enums]

    def name(self, item, page, prefix):
        """Sets the anchors of @p item and its members, and enters their names."""
        for each in item.with_members():
            path = each.full.removeprefix(item.full).removeprefix('::').replace('::', '-')
            if each.owner and (is_constructor(each) or each.name.startswith('~')):
                path = path.replace(each.name, 'constructors' if is_constructor(each) else 'destructor')
            for sign, word in OPERATORS.items():
                path = re.sub(rf'operator{re.escape(sign)}$', f'operator-{word}', path)
            each.page, each.anchor = page, prefix + path if path else last(item.name)
            scope = each.full.rpartition('::')[0]
            for own in each.names:
                self.names.setdefault(f'{scope}::{own}' if scope else own, each)
            for old in MERGED.get(item.name, ()):
                self.names.setdefault(each.full.replace(item.name, old, 1), each)

    # --- Links ---

    def find(self, name, item):
        """Looks @p name up from @p item outwards. The last choice is @p item itself."""
        scopes = [item.full] if item else ['']
        while scopes[-1]:
            scopes.append(scopes[-1].rpartition('::')[0])
        found = [self.names.get(f'{scope}::{short(name)}'.removeprefix('::').removesuffix('()')) for scope in scopes]
        others = [f for f in found if f and f is not item]
        return others[0] if others else item if item in found else None

    def is_broken(self, name):
        """Whether @p name looks like a member of a class that has no such member."""
        owner = self.names.get(short(name).rpartition('::')[0])
        return owner is not None and bool(owner.members) and not self.find(name, None)

    def link(self, target, page):
        """The link to @p target from @p page."""
        if target.page == page:
            return f'#{target.anchor}'
        is_main = self.pages[target.page][0] == target.name
        return f'{target.page}.md' + ('' if is_main else f'#{target.anchor}')

    def link_guides(self, text, element):
        """Makes links of the guides that @p text names, with their titles."""
        def guide(found):
            page = self.root / found.group()
            if not page.exists():
                self.problem(element, f'{found.group()} does not exist')
                return found.group()
            title = re.search(r'(?m)^# (.*)', page.read_text()).group(1)
            return f'[{title}](../{found.group(1)})'
        return re.sub(r'docs/([\w/-]+\.md)', guide, text)

    # --- Comments ---

    def describe(self, item):
        """One comment for all overloads: (1) tells which overload a text is about."""
        docs = []
        for number, element in enumerate(item.elements, 1):
            doc = Writer(self, item, element).comment()
            if doc.text() or not docs:  # an overload without a comment has that of the one before
                docs.append((doc, []))
            docs[-1][1].append(f'({number})')
        docs = [d for d in docs if d[0].text()] or docs
        whole, numbers = docs[0]
        if item.kind == 'class':
            return whole
        if item.group is not None:
            whole = Writer(self, item, item.elements[0]).doc(item.group.find('description'))
        elif is_constructor(item) and len(item.elements) > 1:
            whole.body[:1] = [f'{", ".join(numbers)} {block}' for block in whole.body[:1]]
        for doc, numbers in docs if item.group is not None else docs[1:]:
            if item.group is not None or doc.text() != docs[0][0].text():
                whole.append(doc, ', '.join(numbers))
        return whole


def write(root, work):
    """Writes the pages. Returns their navigation for mkdocs, the names that are at their anchors, and the problems:
    "file:line: what is wrong"."""
    root, work = root.resolve(), work.resolve()
    folder = work / 'pages/reference'
    for old in (work / 'headers', work / 'xml', folder):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(parents=True)
    compounds, problems = run_doxygen(root, work)
    items, introductions = collect(compounds)
    site = Site(root, items, problems)
    check(site)
    for page, text in Pages(site, introductions).all():
        (folder / f'{page}.md').write_text(text)
        problems += internal_names(f'pages/reference/{page}.md', text)
    nav = [{topic: [{site.pages[p][0]: f'reference/{p}.md'} for p in pages]} for topic, pages in site.topics.items()]
    names = {f'reference/{item.page}.html#{item.anchor}': item.full for item in site.all()}
    return nav, names, problems


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit('usage: reference.py ROOT WORK')
    found = write(*map(pathlib.Path, sys.argv[1:]))[2]
    print('\n'.join(found), end='\n' if found else '')
    sys.exit(bool(found))
