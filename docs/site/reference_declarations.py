"""Makes declarations and synopses in C++, as programs see them."""
import itertools
import re

from reference_headers import MERGED, last, line_of, short, text_of

WIDTH = 80  # the page of a notebook shows as many columns
# What {} means, by the beginning of the type.
EMPTY = {'std::shared_ptr': 'null', 'std::exception_ptr': 'null', 'error_code': 'no error', 'std::vector': 'empty',
         'std::string': 'empty', 'std::function': 'empty', 'log_function': 'empty', 'resource_set': 'empty',
         'histogram': 'empty', 'tls_options': 'its defaults'}


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


def qualified(code, name):
    """The type or value @p code of a member that has the name of its type: C++ needs the namespace there."""
    return re.sub(rf'^(= )?(?={name}\b)', r'\1redlock::', code) if re.match(rf'(= )?{name}(::\w+)?$', code) else code


def template_line(element):
    parameters = []
    for p in element.findall('templateparamlist/param'):
        kind, name = clean(text_of(p.find('type'))), text_of(p.find('declname'))
        kind = 'class' if '…' in kind else kind
        parameters.append(f'{kind} {name}'.strip() + default_argument(p))
    return f'template <{", ".join(parameters)}>\n' if parameters else ''


def default_argument(parameter):
    default = clean(text_of(parameter.find('defval')))
    default = '…' if 'default_completion_token' in default else default
    return f' = {default}' if default else ''


def signature(element):
    """A declaration, without attributes and default tokens."""
    arguments = [f'{clean(text_of(p.find("type")))} {text_of(p.find("declname"))}'.strip() + default_argument(p)
                 for p in element.findall('param')]
    words = ['static' if element.get('static') == 'yes' else '', 'explicit' if element.get('explicit') == 'yes' else '',
             'virtual' if element.get('virt') in ('virtual', 'pure-virtual') else '',
             qualified(clean(text_of(element.find('type'))).removeprefix('virtual '), element.findtext('name'))]
    start = ' '.join(word for word in words if word) + ' ' + clean(element.findtext('name')) + '('
    after = element.findtext('argsstring').rpartition(')')[2]  # const noexcept =default
    end = f') {re.sub(" ?= ?", " = ", after).strip()}'.rstrip() + ';'
    line = start.strip() + ', '.join(arguments) + end
    if len(line) > WIDTH:
        line = start.strip() + '\n    ' + ',\n    '.join(arguments) + end
    return template_line(element) + requires(element) + line


def requires(element):
    condition = re.sub(r'\s+', ' ', text_of(element.find('requiresclause')))
    return f'    requires {condition}\n' if condition and 'detail::' not in condition else ''


def concept(element):
    condition = re.sub(r'\s+', ' ', text_of(element.find('initializer'))).partition(' = ')[2]
    return f'{template_line(element)}concept {short(element.findtext("compoundname"))} = ' \
        + re.sub(r'detail::.*', '…', condition).replace('< ', '<').replace(' >', '>') + ';'


def declaration(element):
    kind, name = element.get('kind'), element.findtext('name')
    if kind in ('function', 'friend'):
        return signature(element)
    if kind in ('class', 'struct'):
        return f'{template_line(element)}{kind} {last(element.findtext("compoundname"))};'
    type_ = clean(text_of(element.find('type')))
    if kind == 'typedef':
        return f'{template_line(element)}using {name} = {type_};'
    if kind == 'define':
        return f'#define {name} {text_of(element.find("initializer"))}'
    if kind == 'enum':
        return f'enum class {name}{" : " + type_ if type_ else ""};'
    arguments = element.findtext('argsstring') or ''
    value = clean(text_of(element.find('initializer')))
    type_, value = qualified(type_, name), qualified(value, name)
    type_ = ('static ' if element.get('static') == 'yes' else '') + type_
    return f'{type_}{"" if arguments else " "}{name}{clean(arguments)}{" " if value.startswith("=") else ""}{value};'


def synopsis(item):
    """The class, or both classes behind the name, with their public members in their order."""
    return '\n\n'.join(class_with_members(item, element) for element in reversed(item.elements))


def class_with_members(item, element):
    name = item.name if element is item.elements[0] else element.findtext('compoundname')
    access = 'public ' if element.get('kind') == 'class' else ''
    bases = ', '.join(access + clean(text_of(b)) for b in element.findall('basecompoundref'))
    members = sorted((e for m in item.members for e in m.elements if e.get('of') == element.get('id')), key=line_of)
    lines = spaced([(e.findtext('name'), declaration(e)) for e in members])
    head = f'{element.get("kind")} {last(name)}{" : " + bases if bases else ""} {{\n'
    head += access.replace(' ', ':\n')
    return ('' if item.name in MERGED else template_line(element)) + head \
        + ''.join('    ' + line + '\n' if line else '\n' for line in lines) + '};'


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


def default_of(variable):
    """The default as people read it: 10 s, empty, null."""
    type_, value = text_of(variable.find('type')), clean(text_of(variable.find('initializer'))).removeprefix('= ')
    if value == '{}':
        return next((word for start, word in EMPTY.items() if type_.startswith(start)), '`{}`')
    value = re.sub(r"std::chrono::milliseconds\{([\d']+)\}", milliseconds, value)
    if 'milliseconds' in type_:
        value = re.sub(r"^\{([\d']+)\}$", milliseconds, value)
    value = re.sub(r'^\{(\d+)\}$', r'\1', value)
    return value if re.fullmatch(r'\d+ m?s', value) else f'`{value}`' if value else ''


def milliseconds(found):
    number = int(found.group(1).replace("'", ''))
    return f'{number // 1000} s' if number and number % 1000 == 0 else f'{number} ms'
