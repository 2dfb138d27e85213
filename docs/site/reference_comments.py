"""Makes Markdown of the comments, which Doxygen has turned into XML."""
import re

from reference_headers import text_of


class Doc:
    """A comment as Markdown: blocks of text, and the parts that begin with @par, @return, @param and @throws."""

    def __init__(self):
        self.body, self.parts = [], {}

    def part(self, title):
        return self.parts.setdefault(title, [])

    def append(self, doc, label):
        """Appends the comment of the overloads in @p label."""
        self.body += labelled(label, doc.body)
        for title, blocks in doc.parts.items():
            part = self.part(title)
            is_list = title in ('Parameters', 'Throws')
            part += [b for b in blocks if b not in part] if is_list else labelled(label, blocks)

    @property
    def sentence(self):
        """The first sentence, for tables."""
        if not self.body or not is_text(self.body[0]):
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

    def comment(self):
        return self.doc(*(self.element.find(tag) for tag in ('briefdescription', 'detaileddescription')))

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
                    title = 'Returns' if child.get('kind') == 'return' else text_of(child.find('title'))
                    self.current = doc.part(title)
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
            self.current.append(self.site.link_guides(line, self.element))

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
        """Code, with a link if it is a name of the library."""
        name = text.removeprefix('ref:')
        is_ref = name != text
        target = self.site.find(name, self.item) if is_ref or self.is_name(name) else None
        if is_ref and not target:
            self.site.problem(self.element, f'@ref {name}: there is no such name')
        elif not target and self.site.is_broken(name):
            self.site.problem(self.element, f'`{name}`: the class has no such member')
        shown = re.sub(r'\bbasic_(lock(_manager|_scope)?)\b', r'\1', name)
        if not target or target is self.item:
            return f'`{shown}`'
        return f'[`{shown}`]({self.site.link(target, self.item.page)})'

    def is_name(self, code):
        """Whether @p code may be a name of the library. A plain word is one only beside a member of its struct."""
        if not re.fullmatch(r'(\w|::)+(\(\))?', code) or code in self.arguments:
            return False
        if '::' in code or '_' in code:
            return True
        is_member = self.item.kind == 'variable' and self.item.owner
        return bool(is_member and self.site.find(f'{self.item.owner.full}::{code}', None))


def is_text(block):
    return not block.startswith(('- ', '1. ', '|', '```'))


def labelled(label, blocks):
    return [f'{label} {blocks[0]}'] + blocks[1:] if blocks and is_text(blocks[0]) else blocks


def escape(text):
    return re.sub(r'([\\*`\[])', r'\\\1', text or '').replace('<', '&lt;')


def indent(blocks):
    return '\n\n'.join(blocks).replace('\n', '\n    ').replace('\n    \n', '\n\n')


def fence(code, language='cpp'):
    return f'```{language}\n{code}\n```'


def table(head, rows):
    """A table, without the columns in which all rows are empty."""
    used = [any(row[i] for row in rows) for i in range(len(head))]
    lines = [[re.sub(r'\s*\n\s*', ' ', cell).replace('|', '\\|') for cell, use in zip(row, used) if use]
             for row in [head, ['---'] * len(head)] + rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)
