"""Reads the public headers with Doxygen, and finds the names that need an entry in the reference."""
import dataclasses
import re
import subprocess
import xml.etree.ElementTree as ElementTree

# The name that programs use, and the classes behind it.
MERGED = {'lock': ('basic_lock', 'lock_handle'), 'lock_manager': ('basic_lock_manager',),
          'lock_scope': ('basic_lock_scope',)}
HOME = {'detail/body_run.hpp': 'lock_manager.hpp'}  # a public name that is declared in detail/


def copy_headers(root, to):
    """Copies the public headers without what confuses Doxygen. Each line keeps its number."""
    for source in sorted((root / 'include/redlock').rglob('*.hpp')):
        name = str(source.relative_to(root / 'include/redlock'))
        if name.startswith('detail/') and name not in HOME:
            continue
        text = source.read_text().replace('::inline v1', '').replace('REDLOCK_API ', '')
        text = re.sub(r'@ref\s+((?:\w|::)+)', r'`ref:\1`', text)  # Site.find() knows the names that programs use
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
    try:
        run = subprocess.run(['doxygen', '-'], input=settings, text=True, capture_output=True)
    except FileNotFoundError:
        raise SystemExit('the reference needs doxygen: apt-get install doxygen') from None
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
    doc: object = None  # the comment: see reference_comments.Doc

    @property
    def full(self):
        return f'{self.owner.full}::{self.name}' if self.owner else self.name

    @property
    def names(self):
        """The last parts of its names. Only a group has several."""
        names = dict.fromkeys(e.findtext('name') for e in self.elements)
        return list(names) if self.group is not None else [last(self.name)]

    @property
    def title(self):
        if self.group is None:
            return self.name
        return ', '.join(self.names) if len(self.names) < 4 else self.group.findtext('header')


    def with_members(self):
        yield self
        for member in self.members:
            yield from member.with_members()


def is_constructor(item):
    return item.kind == 'function' and item.owner is not None \
        and item.name in (last(item.owner.name), *MERGED.get(item.owner.name, ()))


def short(name):
    return name.removeprefix('redlock::')


def last(name):
    return name.rpartition('::')[2]


def add_members(items, sections, owner, prefix, families):
    """Adds the public members of @p sections to @p items. Overloads become one item: @p families has those so far."""
    for section in sections:
        group = section if section.get('kind') == 'user-defined' and section.find('header') is not None else None
        for element in section.findall('memberdef'):
            kind, name = element.get('kind'), element.findtext('name')
            if element.get('prot') not in ('public', None) or text_of(element.find('type')) == 'class':  # a friend
                continue
            if owner and name in MERGED.get(owner.name, ())[1:]:  # nobody makes an object of the base
                continue
            kind = 'function' if kind == 'friend' else kind
            family = 'constructors' if owner and name in (last(owner.name), *MERGED.get(owner.name, ())) else name
            key = (kind, id(group) if group is not None else family, owner or header_of(element))
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
    item, families = Item('class', name, compounds), {}
    for compound in compounds:
        for inner in [by_id[c.get('refid')] for c in compound.findall('innerclass') if c.get('prot') == 'public']:
            nested = make_class(last(inner.findtext('compoundname')), [inner], by_id)
            nested.owner = item
            item.members.append(nested)
        add_members(item.members, compound.findall('sectiondef'), item, '', families)
        for element in [e for member in item.members for e in member.elements if not e.get('of')]:
            element.set('of', compound.get('id'))  # a name may stand for several classes
    return item


def collect(compounds):
    """Returns the items, and the files and namespaces, whose comments introduce pages."""
    by_id = {c.get('id'): c for c in compounds}
    classes = {short(c.findtext('compoundname')): c for c in compounds if c.get('kind') in ('class', 'struct')}
    merged = {old for olds in MERGED.values() for old in olds}
    items = [make_class(new, [classes[old] for old in olds], by_id) for new, olds in MERGED.items()]
    items += [make_class(name, [c], by_id) for name, c in classes.items()
              if name not in merged and name.rpartition('::')[0] not in classes]
    introductions = {}
    for compound in compounds:
        kind, name = compound.get('kind'), short(compound.findtext('compoundname'))
        sections = compound.findall('sectiondef')
        if kind == 'concept':
            items.append(Item('concept', name, [compound]))
        elif kind == 'namespace' and compound.findtext('compoundname').startswith('redlock'):
            add_members(items, sections, None, '' if name == 'redlock' else name + '::', {})
            introductions[name] = compound
        elif kind == 'file':
            if 'detail/' not in compound.find('location').get('file', ''):
                add_members(items, [s for s in sections if s.get('kind') == 'define'], None, '', {})
            introductions[header_of(compound)] = compound
    return [i for i in items if i.kind != 'typedef' or i.name not in MERGED], introductions
