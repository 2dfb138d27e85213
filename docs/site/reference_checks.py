"""Finds what the comments lack: each name must be documented, and each asynchronous function completely."""
import re

from reference_headers import header_of, is_constructor, last

ASYNC = re.compile(r'(async_|with_)\w+|elect|run_request')
INTERNAL = re.compile(r'\b(detail|locks|runtime|v1)::|REDLOCK_API')
# What an asynchronous function must say, and the parts that say it.
WANTED = {'completion': ('Completes', 'Completion signature', 'Returns'), 'errors': ('Errors', 'Throws'),
          'cancellation': ('Cancellation',), 'lifetime': ('Lifetime',), 'thread safety': ('Thread safety',)}


def check(site):
    """Adds problems to those of @p site. Gives members without a comment that of another one, see inherit()."""
    for item in site.all():
        if item.kind == 'variable' and item.page and not item.doc.text():
            item.doc = inherit(site, item)
        text = item.doc.text()
        if not item.doc.body and not is_special(item):
            lack = 'needs a sentence before @throws, @param and the like' if text else 'has no comment'
            site.problem(item.elements[0], f'{item.full} {lack}')
        if re.search(r'\bas above\b|^…|[^,] …$', text, re.IGNORECASE):
            site.problem(item.elements[0], f'{item.full}: "as above" and "…" are riddles on a page: name what is meant')
        if is_async(item):
            check_parts(site, item)
    documented = {header_of(e) for i in site.items if i.page for e in i.elements}
    folder = site.root / 'include/redlock'
    for header in sorted(str(path.relative_to(folder)) for path in folder.rglob('*.hpp')):
        declares = 'namespace redlock' in (folder / header).read_text()  # others only include, such as config.hpp
        if declares and header not in documented and not header.startswith('detail/'):
            site.problems.append(f'include/redlock/{header}:1: no page documents this header')


def inherit(site, item):
    """A member of a struct without a comment has that of the first member with its name on the page."""
    for other in site.pages[item.page][1]:
        for member in other.members:
            if member.name == item.name and member.kind == item.kind and member.doc.text():
                return member.doc
    return item.doc


def is_async(item):
    return item.kind == 'function' and bool(ASYNC.fullmatch(last(item.name)))


def check_parts(site, item):
    """An asynchronous function says everything, or names the function whose parts hold."""
    shared = shared_parts(' '.join(item.doc.body))
    of_class = item.owner.doc.parts if item.owner else {}
    missing = [word for word, parts in WANTED.items()
               if word not in shared and not any(part in item.doc.parts for part in parts)
               and not (word == 'thread safety' and 'Thread safety' in of_class)]
    if missing:
        site.problem(item.elements[0], f'{item.full} lacks {", ".join(missing)}: write @par '
                     + ', '.join(WANTED[word][0] for word in missing) + ', or "… are those of @ref another_function"')


def shared_parts(text):
    """The words before "are those of [`f`]" or "are as for [`f`]". A comment that begins with "As [`f`]" shares all."""
    if re.match(r'(\(\d+\),? )*As \[`[\w:]+`\]', text):
        return ' '.join(WANTED)
    return ' '.join(re.findall(r'([^.]*) (?:those of|as for) \[`[\w:]+`\]', text)).lower()


def is_special(item):
    """A member that every reader knows, such as a destructor, an assignment or a defaulted function."""
    if item.kind != 'function':
        return item.kind == 'typedef' and item.name == 'other'  # of rebind_executor
    arguments = [element.findtext('argsstring') for element in item.elements]
    return item.name.startswith(('~', 'operator=')) or all(is_known(item, a) for a in arguments)


def is_known(item, arguments):
    is_default = is_constructor(item) and arguments.startswith('()')
    return is_default or bool(re.search(r'(= ?default|= ?delete|override)$', arguments))


def internal_names(file, text):
    return [f'{file}:{number}: shows an internal name: {line.strip()}'
            for number, line in enumerate(text.splitlines(), 1) if INTERNAL.search(line)]
