"""Makes the pages of the reference from the doc comments in include/redlock.

usage: reference.py ROOT WORK     writes WORK/pages/reference/*.md; prints problems, and exits with 1 if there are any

Doxygen parses copies of the headers and writes XML. This module makes Markdown from it, resolves the names, and finds
what the comments lack. A line of PAGES is a page: its names, or its title and its names.
"""
import dataclasses
import itertools
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

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
# The name that programs use, and the classes behind it.
MERGED = {'lock': ('basic_lock', 'lock_handle'), 'lock_manager': ('basic_lock_manager',),
          'lock_scope': ('basic_lock_scope',)}
HOME = {'detail/body_run.hpp': 'lock_manager.hpp'}  # a public name that is declared in detail/
PARTS = ('Completes', 'Completion signature', 'Template parameters', 'Parameters', 'Returns', 'Throws', 'Errors',
         'Cancellation', 'Lifetime', 'Thread safety')
ASYNC = re.compile(r'(async_|with_)\w+|elect|run_request')
INTERNAL = re.compile(r'\b(detail|locks|runtime|v0)::|REDLOCK_API')
OPERATORS = {'==': 'equal', '=': 'assign', '+=': 'plus-assign', '-=': 'minus-assign', '+': 'plus', '-': 'minus'}


# --- What Doxygen reads and writes ---

def copy_headers(root, to):
    """Copies the public headers without what confuses Doxygen. Each line keeps its number."""
    for source in sorted((root / 'include/redlock').rglob('*.hpp')):
        name = str(source.relative_to(root / 'include/redlock'))
        if name.startswith('detail/') and name not in HOME:
            continue
        text = source.read_text().replace('::inline v0', '').replace('REDLOCK_API ', '')
        text = re.sub(r'@ref\s+((?:\w|::)+)', r'`ref:\1`', text)  # resolve() knows the names that programs use
        text = re.sub(r'@p (\w+)', r'`\1`', text)  # Doxygen would take a colon for a part of the name
        text = re.sub(r'(?m)^( +)(\*\*?)(\S[^*\n]*)\2(?!\*)', r'\1<b>\3</b>', text)  # not the frame of a comment
        text = re.sub(r'\[\[deprecated\("use (\w+)"\)\]\]', r'/** Deprecated: use `ref:\1`. */', text)
        for internal in (r'// For the library itself\.\n.*?\n\n', r'template <>\nstruct boost::.*?\};\n'):
            text = re.sub(internal, lambda found: '\n' * found.group().count('\n'), text, flags=re.DOTALL)
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        (to / name).write_text(text)


def run_doxygen(root, work):
    """Returns the compounds of the XML, and the warnings as problems."""
    headers = work / 'headers/include/redlock'
    copy_headers(root, headers)
    settings = (root / 'docs/site/Doxyfile').read_text() + (
        f'INPUT = "{headers}"\nOUTPUT_DIRECTORY = "{work}"\nSTRIP_FROM_PATH = "{headers}"\n')
    run = subprocess.run(['doxygen', '-'], input=settings, text=True, capture_output=True)
    if run.returncode != 0:
        raise SystemExit(f'doxygen failed: {run.stderr}')
    index = ElementTree.parse(work / 'xml/index.xml').getroot()
    files = [work / 'xml' / (entry.get('refid') + '.xml') for entry in index.iter('compound')]
    compounds = [c for f in files if f.exists() for c in ElementTree.parse(f).getroot().iter('compounddef')]
    warnings = re.sub(r'\n\s+', ' ', run.stderr).replace(f'{work}/headers/', '').splitlines()
    return compounds, warnings


def text_of(element):
    return '' if element is None else ''.join(element.itertext()).strip()


def header_of(element):
    name = element.find('location').get('file')
    return HOME.get(name, name)


def line_of(element):
    return int(element.find('location').get('line', '1'))


def where(element):
    return f'include/redlock/{element.find("location").get("file")}:{line_of(element)}'


# --- Names ---

@dataclasses.dataclass(eq=False)
class Item:
    """What has an entry on a page: a class with its members, an enum, or all overloads of a function."""
    kind: str
    name: str  # as programs write it: testing::lose, async_acquire
    elements: list  # the XML of each overload, or of each class behind the name
    owner: 'Item' = None
    group: ElementTree.Element = None  # a section with a comment (@name) for several functions
    members: list = dataclasses.field(default_factory=list)
    page: str = ''
    anchor: str = ''
    doc: 'Doc' = None

    @property
    def full(self):
        return f'{self.owner.full}::{self.name}' if self.owner else self.name

    @property
    def names(self):
        """The last parts of its names. Only a group has several."""
        names = dict.fromkeys(e.findtext('name') for e in self.elements)
        return list(names) if self.group is not None else [self.name.rpartition('::')[2]]

    @property
    def title(self):
        if self.group is None:
            return self.name
        return ', '.join(self.names) if len(self.names) < 4 else self.group.findtext('header')

    @property
    def has_headings(self):
        """An aggregate has only variables."""
        return self.kind == 'class' and any(m.kind not in ('variable', 'value') for m in self.members)


def short(name):
    return name.removeprefix('redlock::')


def add_members(items, sections, owner, prefix):
    """Adds the public members of @p sections to @p items: overloads become one item."""
    families = {}
    for section in sections:
        group = section if section.get('kind') == 'user-defined' and section.find('header') is not None else None
        for element in section.findall('memberdef'):
            kind, name = element.get('kind'), element.findtext('name')
            if element.get('prot') not in ('public', None) or (kind == 'friend' and text_of(element.find('type')) == 'class'):
                continue
            kind = 'function' if kind == 'friend' else kind
            key = (kind, id(group) if group is not None else name, owner or header_of(element))
            if key not in families or kind not in ('function', 'define'):
                families[key] = Item(kind, prefix + name, [], owner, group)
                items.append(families[key])
            families[key].elements.append(element)
    for item in items:
        if item.kind == 'enum' and not item.members:
            for value in item.elements[0].findall('enumvalue'):
                value.append(item.elements[0].find('location'))  # Doxygen does not tell that of a value
                item.members.append(Item('value', value.findtext('name'), [value], item))


def make_class(name, compounds, by_id):
    item = Item('class', name, compounds)
    for compound in compounds:
        inner = [by_id[c.get('refid')] for c in compound.findall('innerclass') if c.get('prot') == 'public']
        for c in inner:
            nested = make_class(c.findtext('compoundname').rsplit('::', 1)[1], [c], by_id)
            nested.owner = item
            item.members.append(nested)
        add_members(item.members, compound.findall('sectiondef'), item, '')
    return item


def collect(compounds):
    """Returns all names that a page must have, and the comments of the files and namespaces."""
    by_id = {c.get('id'): c for c in compounds}
    classes = {short(c.findtext('compoundname')): c for c in compounds if c.get('kind') in ('class', 'struct')}
    merged = {old for olds in MERGED.values() for old in olds}
    items = [make_class(new, [classes[old] for old in olds], by_id) for new, olds in MERGED.items()]
    items += [make_class(name, [c], by_id) for name, c in classes.items()
              if name not in merged and name.rpartition('::')[0] not in classes]
    comments = {}
    for compound in compounds:
        kind, name = compound.get('kind'), short(compound.findtext('compoundname'))
        sections = compound.findall('sectiondef')
        if kind == 'concept':
            items.append(Item('concept', name, [compound]))
        elif kind == 'namespace' and compound.findtext('compoundname').startswith('redlock'):
            prefix = '' if name == 'redlock' else name + '::'
            add_members(items, sections, None, prefix)
            comments[name] = compound
        elif kind == 'file':
            add_members(items, [s for s in sections if s.get('kind') == 'define'], None, '')
            comments[header_of(compound)] = compound
    return [i for i in items if i.kind != 'typedef' or i.name not in MERGED], comments


# --- Markdown ---

class Doc:
    """A comment as Markdown: blocks of text, and the parts that begin with @par, @return, @param and @throws."""

    def __init__(self):
        self.body, self.parts = [], {}

    def part(self, title):
        return self.parts.setdefault(title, [])

    @property
    def sentence(self):
        """The first sentence, for tables."""
        if not self.body or self.body[0].startswith(('- ', '```', '|')):
            return ''
        first = re.split(r'(?<=[.!?])\s+(?=[A-Z(\[`*"“@…])', self.body[0])[0]
        return re.sub(r'^(\(\d+\),? )+|:$', '', first).removesuffix('.') + '.'

    def text(self):
        return '\n'.join(self.body + [b for blocks in self.parts.values() for b in blocks])


class Writer:
    """Makes Markdown of one comment. Names are looked up from @p item outwards."""
    BLOCKS = {'itemizedlist', 'orderedlist', 'table', 'verbatim', 'programlisting', 'simplesect', 'parameterlist'}

    def __init__(self, site, item, element):
        self.site, self.item, self.element = site, item, element
        self.arguments = {text_of(p.find('declname')) for p in element.findall('param')}

    def doc(self, *descriptions):
        doc = Doc()
        for description in descriptions:
            if description is not None:
                self.current = doc.body
                self.read(description, doc)
        return doc

    def read(self, element, doc):
        """Appends the blocks of @p element. Text after a @par belongs to it, until the next part."""
        line = escape(element.text)
        for child in element:
            if child.tag == 'para' or child.tag in self.BLOCKS:
                self.end_line(line)
                line = ''
                if child.tag == 'para':
                    self.read(child, doc)
                elif child.tag == 'simplesect':
                    self.current = doc.part('Returns' if child.get('kind') == 'return' else text_of(child.find('title')))
                    for paragraph in child.findall('para'):
                        self.read(paragraph, doc)
                elif child.tag == 'parameterlist':
                    self.parameters(child, doc)
                    self.current = doc.body
                else:
                    self.current.append(self.block(child))
            else:
                line += self.inline(child)
            line += escape(child.tail)
        self.end_line(line)

    def end_line(self, line):
        line = re.sub(r'\s+', ' ', line).strip()
        line = re.sub(r'(\]\([^)]*\)|`) (?=[:,.;)])', r'\1', line)  # "@ref name ," ends the name by a space
        if line:
            self.current.append(self.site.link_guides(line, self.item, self.element))

    def blocks(self, element):
        return self.__class__(self.site, self.item, self.element).doc(element).body

    def parameters(self, parameterlist, doc):
        title = {'param': 'Parameters', 'exception': 'Throws', 'templateparam': 'Template parameters'}
        entries = doc.part(title[parameterlist.get('kind')])
        for entry in parameterlist.findall('parameteritem'):
            name = text_of(entry.find('.//parametername')).removeprefix('ref:').strip('`')
            blocks = self.blocks(entry.find('parameterdescription'))
            if parameterlist.get('kind') == 'exception':  # Doxygen takes the first word for the type
                blocks[:1] = [f'{self.code(name) if re.search("_|::", name) else name} {"".join(blocks[:1])}'.strip()]
            else:
                blocks[:1] = [f'`{name}`: {"".join(blocks[:1])}']
            entries.append('- ' + indent(blocks))

    def block(self, element):
        if element.tag in ('itemizedlist', 'orderedlist'):
            mark = '- ' if element.tag == 'itemizedlist' else '1. '
            return '\n'.join(mark + indent(self.blocks(item)) for item in element.findall('listitem'))
        if element.tag == 'table':
            rows = [[' '.join(self.blocks(entry)) for entry in row.findall('entry')] for row in element.findall('row')]
            return table(rows[0], rows[1:])
        if element.tag == 'programlisting':
            for space in element.iter('sp'):
                space.text = ' '
            return fence('\n'.join(''.join(line.itertext()) for line in element.iter('codeline')).strip('\n'))
        return fence(re.sub(r'(?m)^ {4}', '', (element.text or '').strip('\n')), 'text')

    def inline(self, element):
        if element.tag == 'computeroutput':
            return self.code(''.join(element.itertext()))
        content = escape(element.text) + ''.join(self.inline(c) + escape(c.tail) for c in element)
        if element.tag == 'ulink':
            url = element.get('url')
            return f'<{url}>' if content == url else f'[{content}]({url})'
        mark = {'bold': '**', 'emphasis': '*'}.get(element.tag, '')
        special = {'ndash': '–', 'mdash': '—', 'nonbreakablespace': '\u00a0'}.get(element.tag, '')
        return f'{mark}{content}{mark}{special}'

    def code(self, text):
        """Code, with a link if it is a name of the library. A plain word may be an argument or a variable."""
        name = text.removeprefix('ref:')
        target = None
        if re.fullmatch(r'(\w|::)+(\(\))?', name):
            plain = '::' not in name and '_' not in name
            sibling = self.item.owner if self.item.kind == 'variable' else None
            if name != text or not plain or sibling and self.site.find(f'{sibling.full}::{name}', None):
                target = self.site.find(name, self.item) if name != text or name not in self.arguments else None
        if name != text and not target:
            self.site.problem(self.element, f'@ref {name}: there is no such name')
        elif not target and self.site.is_broken(name):
            self.site.problem(self.element, f'`{name}`: the class has no such member')
        shown = re.sub(r'\bbasic_(lock(_manager|_scope)?)\b', r'\1', name)
        return f'`{shown}`' if not target else f'[`{shown}`]({self.site.link(target, self.item)})'


def escape(text):
    return re.sub(r'([\\*`\[])', r'\\\1', text or '').replace('<', '&lt;')


def indent(blocks):
    return '\n\n'.join(blocks).replace('\n', '\n    ').replace('\n    \n', '\n\n')


def fence(code, language='cpp'):
    return f'```{language}\n{code}\n```'


def table(head, rows):
    lines = [head, ['---'] * len(head)] + rows
    return '\n'.join('| ' + ' | '.join(re.sub(r'\s*\n\s*', ' ', c).replace('|', '\\|') for c in line) + ' |' for line in lines)


# --- C++ ---

def clean(code):
    """C++ as programs write it, without the names of the library's internals."""
    code = re.sub(r'\s+', ' ', code).strip()
    code = re.sub(r'<\s+', '<', re.sub(r'\s+>', '>', code))
    code = re.sub(r'(?<=\w)([&*]+)(?=\w)', r'\1 ', re.sub(r'\s+([&*])', r'\1', code))
    code = re.sub(r', detail::\w+<[^<>]*>', '', code)
    code = re.sub(r'(asio::completion_token_for<)?detail::\w+(<[^<>]*>)*', '…', code).replace('…>', '…')
    code = re.sub(r'\bbasic_lock<Executor>|\block_type\b(?! =)', 'lock', code)
    code = re.sub(r'\bbasic_(lock(?:_manager|_scope)?)(<Executor>|\b(?!<))', r'\1', code)
    code = re.sub(r'^(inline )?constexpr ', 'constexpr ', code)
    return re.sub(r'\bExecutor\b(?! =)', 'asio::any_io_executor', code).replace('redlock::', '')


def template_line(element):
    lines = []
    for p in element.findall('templateparamlist/param'):
        kind, name, default = (clean(text_of(p.find(tag))) for tag in ('type', 'declname', 'defval'))
        kind = 'class' if '…' in kind else kind
        default = '…' if 'default_completion_token' in default else default
        lines.append(f'{kind} {name}'.strip() + (f' = {default}' if default else ''))
    return f'template <{", ".join(lines)}>\n' if lines else ''


def signature(element):
    """A declaration, without attributes and default tokens."""
    name, kind = element.findtext('name'), clean(text_of(element.find('type')))
    arguments = []
    for p in element.findall('param'):
        default = clean(text_of(p.find('defval')))
        default = '…' if 'default_completion_token' in default else default
        arguments.append(f'{clean(text_of(p.find("type")))} {text_of(p.find("declname"))}'.strip()
                         + (f' = {default}' if default else ''))
    before = ''.join(word + ' ' for word, value in (('static', 'yes'), ('explicit', 'yes')) if element.get(word) == value)
    before += 'virtual ' if element.get('virt') != 'non-virtual' and 'virtual' not in kind else ''
    after = re.sub(r'=\s*', '= ', element.findtext('argsstring').rpartition(')')[2]).strip()
    head = template_line(element) + (f'requires {required}\n' if (required := requires(element)) else '')
    start = before + (kind + ' ' if kind else '') + clean(name) + '('
    end = ')' + (' ' + re.sub(r'(?<! )= ', ' = ', after).strip() if after else '') + ';'
    line = start + ', '.join(arguments) + end
    return head + (line if len(line) <= 100 else start + '\n    ' + ',\n    '.join(arguments) + end)


def requires(element):
    condition = re.sub(r'\s+', ' ', text_of(element.find('requiresclause')))
    return '' if 'detail::' in condition else condition


def concept(element):
    condition = re.sub(r'\s+', ' ', text_of(element.find('initializer'))).partition(' = ')[2]
    return f'{template_line(element)}concept {short(element.findtext("compoundname"))} = ' \
        + re.sub(r'detail::.*', '…', condition).replace('< ', '<').replace(' >', '>') + ';'


def declaration(element):
    kind, name = element.get('kind'), element.findtext('name')
    if kind in ('function', 'friend'):
        return signature(element)
    type_ = clean(text_of(element.find('type')))
    if kind == 'typedef':
        return f'{template_line(element)}using {name} = {type_};'
    if kind == 'define':
        return f'#define {name} {text_of(element.find("initializer"))}'
    if kind == 'enum':
        return f'enum class {name}{" : " + type_ if type_ else ""};'
    arguments = element.findtext('argsstring') or ''
    value = clean(text_of(element.find('initializer')))
    return f'{type_}{"" if arguments else " "}{name}{clean(arguments)}{" " if value.startswith("=") else ""}{value};'


def synopsis(item):
    """The class, or both classes behind the name, with their public members in their order."""
    blocks = []
    for element in reversed(item.elements):
        name = item.name if element is item.elements[0] else element.findtext('compoundname')
        bases = ', '.join('public ' + clean(text_of(b)) for b in element.findall('basecompoundref')
                          if b.get('prot') == 'public' and not text_of(b).startswith('detail'))
        own = sorted((e for m in item.members for e in m.elements if m.kind != 'value'
                      and element.get('id') in (e.get('id') or '')), key=line_of)
        members = spaced([(e.findtext('name'), inner_declaration(e)) for e in own])
        head = '' if item.name in MERGED else template_line(element)
        access = 'public:\n' if element.get('kind') == 'class' else ''
        blocks.append(f'{head}{element.get("kind")} {short(name).rpartition("::")[2]}{" : " + bases if bases else ""} {{\n'
                      + access + ''.join('    ' + line + '\n' if line else '\n' for line in members) + '};')
    return '\n\n'.join(blocks)


def spaced(members):
    """The lines of the declarations, with an empty line around overloads and long ones."""
    lines, was_long = [], False
    for _, family in itertools.groupby(members, key=lambda member: member[0]):
        codes = [code for _, code in family]
        is_long = len(codes) > 1 or '\n' in codes[0]
        if lines and (is_long or was_long):
            lines.append('')
        lines += '\n'.join(codes).splitlines()
        was_long = is_long
    return lines


def inner_declaration(element):
    if element.tag == 'compounddef':
        return f'{template_line(element)}{element.get("kind")} {element.findtext("compoundname").rpartition("::")[2]};'
    return declaration(element)


def default_of(variable):
    """The default as people read it: 10 s, empty, null."""
    type_, value = text_of(variable.find('type')), clean(text_of(variable.find('initializer'))).removeprefix('= ')
    if value == '{}':
        words = {'std::shared_ptr': 'null', 'std::exception_ptr': 'null', 'error_code': 'no error', 'tls_options': 'its defaults'}
        empty = ('std::vector', 'std::string', 'std::function', 'log_function', 'resource_set', 'histogram')
        words |= dict.fromkeys(empty, 'empty')
        return next((w for t, w in words.items() if type_.startswith(t)), '`{}`')
    value = re.sub(r"std::chrono::milliseconds\{([\d']+)\}", milliseconds, value)
    if 'milliseconds' in type_:
        value = re.sub(r"^\{([\d']+)\}$", milliseconds, value)
    value = re.sub(r'^\{(\d+)\}$', r'\1', value)
    return value if re.fullmatch(r'\d+ m?s', value) else f'`{value}`' if value else ''


def milliseconds(found):
    number = int(found.group(1).replace("'", ''))
    return f'{number // 1000} s' if number and number % 1000 == 0 else f'{number} ms'


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
            rows = [[f'`{m.name}`{{#{m.anchor}}} {text_of(m.elements[0].find("initializer"))}', ' '.join(m.doc.body)]
                    for m in item.members]
            return lines + [fence(declaration(item.elements[0])), table(['Value', 'Meaning'], rows)]
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
        others = [m for m in item.members if m.kind != 'variable' and (m.doc.body or m.kind == 'enum')]
        if variables:
            rows = [[self.entry(m), self.type_of(m), default_of(m.elements[0]), m.doc.sentence] for m in variables]
            head = ['Member', 'Type', 'Default', 'Meaning']
            if not any(r[2] for r in rows):
                head, rows = head[:2] + head[3:], [r[:2] + r[3:] for r in rows]
            lines.append(table(head, rows))
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
