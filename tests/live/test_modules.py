"""The page's files make one module."""

import posixpath
import re
from importlib.resources import files
from pathlib import Path

import pytest

from dsim.live.modules import module

PAGE = Path(str(files("dsim.live") / "page"))
TEXTS = {each.relative_to(PAGE).as_posix(): each.read_text(encoding="utf-8") for each in PAGE.rglob("*.js")}
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) +(\w+)", re.MULTILINE)
SEVERAL = re.compile(r"^(?:export )?(?:const|let|var) +[\[{]([^=]*)[\]}] *=", re.MULTILINE)
MARKUP_OR_NETWORK = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?://(?!www\.w3\.org)"
)
IMPORT = re.compile(r"^import \{([^}]*)\} from '(\.{1,2}/[\w./]+)';$", re.MULTILINE)


def names(text):
    """What a file declares for all of its lines."""
    several = [name.strip() for found in SEVERAL.findall(text) for name in found.split(",")]
    return [*DECLARED.findall(text), *several]


def exports(text):
    return set(re.findall(r"^export (?:async )?(?:function\*?|class|const|let) +(\w+)", text, re.MULTILINE))


def test_files_are_joined_in_the_order_in_which_they_need_one_another(tmp_path):
    (tmp_path / "view.js").write_text("import { b } from './b.js';\nimport { a } from './a.js';\nb(a);\n")
    (tmp_path / "b.js").write_text("import { a } from './a.js';\nexport function b() {}\n")
    (tmp_path / "a.js").write_text("export const a = 1;\n")
    assert module(tmp_path) == "const a = 1;\n\nfunction b() {}\n\nb(a);\n"


def test_files_in_folders_are_joined_once_whoever_imports_them(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "view.js").write_text(
        "import { b } from './inner/b.js';\nimport { a } from './a.js';\nb(a);\n"
    )
    (tmp_path / "inner" / "b.js").write_text(
        "import { a } from '../a.js';\nimport { c } from './c.js';\nexport const b = a + c;\n"
    )
    (tmp_path / "inner" / "c.js").write_text("import { a } from '../inner/../a.js';\nexport const c = a;\n")
    (tmp_path / "a.js").write_text("export const a = 1;\n")
    assert module(tmp_path) == "const a = 1;\n\nconst c = a;\n\nconst b = a + c;\n\nb(a);\n"


def test_names_are_unique_over_all_files():
    where = {}
    for file, text in TEXTS.items():
        for name in names(text):
            assert where.setdefault(name, file) == file, f"{name} is declared in {where[name]} and in {file}"


@pytest.mark.parametrize("file", TEXTS)
def test_imports_are_of_the_form_that_is_joined_and_of_what_there_is(file):
    lines = [line for line in TEXTS[file].splitlines() if re.match(r"\s*import\b(?! *\()", line)]
    assert len(lines) == len(IMPORT.findall(TEXTS[file])), lines
    for wanted, source in IMPORT.findall(TEXTS[file]):
        assert {name.strip() for name in wanted.split(",") if name.strip()} <= exports(
            TEXTS[posixpath.normpath(posixpath.join(posixpath.dirname(file), source))]
        )


@pytest.mark.parametrize("file", TEXTS)
def test_exports_are_of_the_form_that_is_joined(file):
    found = re.findall(
        r"^export (default|(?:async )?(?:function|class|const|let)\b)?", TEXTS[file], re.MULTILINE
    )
    assert all(found)
    assert ("default" in found) == (file == "view.js")


def test_the_module_has_every_line_once_and_needs_no_other_file():
    text = module(PAGE)
    assert not re.search(r"^\s*import\b", text, re.MULTILINE)
    assert re.findall(r"^export .*", text, re.MULTILINE) == ["export default {"]
    declared = names(text)
    assert len(declared) == len(set(declared))


def test_the_page_asks_nobody_and_makes_no_markup_of_text():
    """Nothing from the network; text of people is never markup."""
    for file, text in TEXTS.items():
        found = MARKUP_OR_NETWORK.findall(text)
        assert not found, f"{file}: {found}"
    assert "url(" not in (PAGE / "view.css").read_text(encoding="utf-8")
