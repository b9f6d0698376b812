"""Checks documents: their links, the files, rules and commands that they name, and the language of all texts."""

import ast
import contextlib
import io
import re
import shlex
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from dohyo import cli
from dohyo.ansible.playbook import check_inventory
from dohyo.places import DOHYO, ROOT, RUN, SETUP, command, shown
from dohyo.scenario import loading
from dohyo.scenario.hosts import here
from support.checkout import tracked


def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub makes from a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in plain}


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_document_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub("`[^`\n]+`", "", page.read_text("utf-8"))):
        if re.match(r"https?:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


def test_rules_that_the_program_names_are_in_the_documents() -> None:
    for file in tracked("analysis/dohyo", "ansible", "benchmarks", "workloads", "ycsb-bindings", "*.sh"):
        for name, anchor in re.findall(
            r"((?:docs|benchmarks)/[\w-]+\.md)#([\w-]+)", file.read_text("utf-8", "replace")
        ):
            assert anchor in anchors(ROOT / name), f"{file}: {name}#{anchor}"


def test_the_architecture_names_files_that_are_there() -> None:
    named = re.findall(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.sh)`", (ROOT / "docs/architecture.md").read_text("utf-8"))
    results, files = [
        [name for name in named if name.startswith("results/") is is_result] for is_result in (True, False)
    ]
    assert results == ["results/ID/raw"]
    assert len(files) > 20
    assert [name for name in files if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_files_that_are_there(page: Path) -> None:
    folders = "ansible|analysis|benchmarks|docs|examples|plugins|roles|tasks|workloads|ycsb-bindings"
    for name in re.findall(rf"`((?:{folders})/[\w./*-]+)`", page.read_text("utf-8")):
        # aws.yml creates inventories, and the system h2 of docs/adding-a-system.md is in examples/.
        pattern = re.sub(r"\b([A-Z]+|h2)\b", "*", name.rstrip("/"))
        assert "/aws-" in name or any(list((ROOT / folder).glob(pattern)) for folder in (".", "ansible")), name


# ---- plain English ---------------------------------------------------------------------------------------------------

# Stilted phrases that pages, messages and comments must not contain.
STILTED = re.compile(
    r"\b(can(not)? be had|could not be had|to be had|stands? in|(is|are|was|were) told|likewise|what there is|of which"
    r"|further ado|at the most|shall|in mid-run|come home|bears)\b",
    re.I,
)
PROGRAMS = ("*.py", "*.sh", "*.yml", "*.j2", "*.java", "workloads", "ansible/**/files/*", "ansible/testbed", ".ci")
# Words that no text may contain.
HOUSE_WORDS = re.compile(r"\b(somebody|nobody|whoever|so many|anew)\b", re.I)
# Task names that do not say what the task does to which object.
WEAK_TASKS = re.compile(r"\w+$|(Keep|Refuse|Say|Tidy|Look (who|what|whether))\b|\w+ (it|them)$")
# Beginnings of sentences that lack a noun or a verb.
BEGINNINGS = re.compile(
    r"(Of|Those|That of|As(?! (in|usual|published)\b)|Whose|Which|Else|What|Where"
    r"|The same (of|as|in|by|with|without))\b[^?]*$"
)
MOST_WORDS = 25
# Length of a message on the screen, with each placeholder counted as 10 characters. Messages are the arguments of
# `raise` and of these functions, and the results of functions that return texts.
MOST_CHARACTERS = 100
SPEAKERS = {"append", "die", "fail", "fail_json", "refuse", "say", "warn", "Reason"}
TEXTS = {"str", "str | None", "list[str]", "Sequence[str]", "Iterator[str]", "Iterator[Reason]"}
MARKS = re.compile(r"# (noqa|type: |fmt: |-{4})|#!")


def screened(tree: ast.AST) -> Iterator[str]:
    """Yields the texts of a program that may be printed as messages, with ten underscores for each placeholder."""

    def text(node: ast.AST) -> str:
        match node:
            case ast.Constant(value=str(value)):
                return value
            case ast.JoinedStr(values=parts):
                return "".join(map(text, parts))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return text(left) + text(right)
        return "_" * 10

    for node in ast.walk(tree):
        arguments: list[ast.expr | None] = []
        match node:
            case ast.Raise(exc=ast.Call(args=args)):
                arguments += args
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in SPEAKERS:
                arguments += [*node.args, *(keyword.value for keyword in node.keywords)]
            case ast.FunctionDef(returns=ast.expr() as kind) if ast.unparse(kind) in TEXTS:
                arguments += [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Yield | ast.Return)]
        yield from (text(part) for argument in arguments if argument for part in ast.walk(argument))


def texts(file: Path) -> Iterator[tuple[str, str]]:
    """Yields the comments, docstrings, messages and task names of a file, each with its kind."""
    source = file.read_text("utf-8")
    if file.suffix == ".py":
        tree = ast.parse(source)
        if file.is_relative_to(ROOT / "analysis/dohyo") or file.is_relative_to(ROOT / "ansible"):
            yield from (("screen", line) for text in dict.fromkeys(screened(tree)) for line in text.splitlines())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                is_function = isinstance(node, ast.FunctionDef) and not node.name.startswith(("test_", "__"))
                yield "function" if is_function and not getattr(node, "decorator_list", []) else "text", text
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, str) and " " in value and not {"tests", "e2e", "suite"} & set(file.parts):
                yield "message", value
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        comments = [token for token in tokens if token.type == tokenize.COMMENT]
        blocks: dict[tuple[int, int], list[str]] = {}
        for number, comment in enumerate(comments):
            row, column = comment.start
            if not MARKS.match(comment.string):
                # A comment after code is a separate text.
                block = -row if comment.line[:column].strip() else row - number
                blocks.setdefault((block, column), []).append(comment.string.lstrip("# "))
        yield from (("text", " ".join(block)) for block in blocks.values())
        return
    mark = "//" if file.suffix == ".java" else "#"
    yield from (
        ("text", re.sub(rf"^ *{mark}+ ?", "", block, flags=re.MULTILINE))
        for block in re.findall(rf"(?:^ *{mark}(?!!).*\n)+|(?<=\S ){mark} [^'\"\n]+$", source, re.MULTILINE)
    )
    for comment in re.findall(r"/\*\*(.*?)\*/", source, re.DOTALL) if file.suffix == ".java" else ():
        yield "text", re.sub(r"^ *\* ?", "", comment, flags=re.MULTILINE).strip()
    if file.suffix == ".yml":
        yield from (("task", name) for name in re.findall(r"^ *- name: (.*)", source, re.MULTILINE))


def not_plain(kind: str, text: str) -> Iterator[str]:
    """Yields the sentences of a text that break a rule, each with the rule."""
    if kind == "function" and not re.match(r"\w+s\b", text):
        yield f"begin with a verb in the third person: {text}"
    if kind == "task" and WEAK_TASKS.match(text):
        yield f"give the task's name a verb and its object: {text}"
    if kind == "screen":
        if len(text) > MOST_CHARACTERS:
            yield f"{len(text)} characters: {text}"
        return
    if kind == "message":
        if HOUSE_WORDS.search(text):
            yield f"use the usual word: {text}"
        return
    # In lists, parameters, commands and tables, each line or column counts as a sentence.
    for sentence in re.split(
        r"\n *\n|(?<=\S) {2,}(?=\S)|\n(?= *(?:[-:@<*{\\]|\./)|.*\S {2,}\S)|(?<=[.!?;]) +|(?<=[.!?;])\n", text
    ):
        sentence_words = re.sub(r"\([^()]*\)|\{[^{}]*\}", "", sentence).split()
        if len(sentence_words) > MOST_WORDS:
            yield f"{len(sentence_words)} words: {sentence}"
        if BEGINNINGS.match(sentence.strip()):
            yield f"begin with the subject: {sentence}"
        if HOUSE_WORDS.search(sentence):
            yield f"use the usual word: {sentence}"


def test_texts_follow_the_rules_of_plain_english() -> None:
    files = [file for file in tracked(*PROGRAMS) if file.suffix not in (".md", ".txt") and "golden" not in file.parts]
    assert len(files) > 700
    problems = [(file, sentence) for file in files for text in texts(file) for sentence in not_plain(*text)]
    assert [f"{file.relative_to(ROOT)}: {sentence}" for file, sentence in problems] == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("function", "The rates."),
        ("function", "Rate of a run."),
        ("task", "Ask"),
        ("text", "Else it would fail."),
        ("text", "Reads a file. Of several the first."),
        ("text", "The server of somebody."),
        ("message", "nobody answers"),
        ("screen", "_" * 101),
        ("task", "Keep the load"),
        ("text", f"A sentence of {' and '.join(['words'] * 13)}."),
    ],
)
def test_the_rules_of_plain_english_find(kind: str, text: str) -> None:
    assert list(not_plain(kind, text))
    assert not list(not_plain(kind, "Returns the rates. As in YCSB, they are per second."))


def stilted(page: Path) -> list[str]:
    return [match.group() for match in STILTED.finditer(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_usual_words(page: Path) -> None:
    assert stilted(page) == []


def test_messages_and_comments_use_the_usual_words() -> None:
    pages = [page for page in tracked(*PROGRAMS) if page != Path(__file__).resolve()]
    assert len(pages) > 500
    assert {str(page.relative_to(ROOT)): phrases for page in pages if (phrases := stilted(page))} == {}


# ---- settings --------------------------------------------------------------------------------------------------------


def settings() -> list[str]:
    """Returns each `--set key=value` of the pages, in order, except those with placeholders."""
    spans = [
        span for page in tracked("*.md") for span in re.findall(r"`(--set [^`]+)`", page.read_text(encoding="utf-8"))
    ]
    return [span for span in dict.fromkeys(spans) if not re.search(r"[A-Z]{3}|…|=/|key=value|h2_|matrix", span)]


@pytest.mark.parametrize("span", settings())
def test_settings_of_a_page_can_be_made(span: str) -> None:
    assignments = [word for word in shlex.split(span) if word != "--set"]
    loading.load(loading.find("workloadA"), loading.overrides(assignments, {}))


# ---- commands --------------------------------------------------------------------------------------------------------

COMMAND = re.compile(r"(\./run\.sh(?= |$)|\.\.?/dohyo(?= |$)|dohyo (?=[a-z-]+ )).*?(?=$| +#| > )")
# Values for the placeholders in commands, and an inventory of four hosts.
STANDS_FOR = {"SCENARIO": "insert-race", "NAME": "insert-race", "FILE": "insert-race"}
HOSTS = ROOT / "ansible/inventories/i3en"
hosts_of = cache(check_inventory)


def commands() -> Iterator[str]:
    """Yields the complete commands of the pages, the scenarios' comments and the help, in order."""
    for page in tracked("docs/*.md", "README.md", "CONTRIBUTING.md", "workloads", "analysis/dohyo/cli.py"):
        text = page.read_text("utf-8").replace("\\\n", " ")
        blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL) if page.suffix == ".md" else [text]
        lines = [line.strip("# ") for block in blocks for line in block.splitlines()]
        spans = re.findall(r"`([^`\n]+)`", text) if page.suffix == ".md" else []
        for line in [*lines, *spans]:
            # Commands in parentheses are for another folder.
            typed = re.sub(r"^\((cd [^&]+&& )?(.*)\)$", r"\2", line)
            if (match := COMMAND.match(typed)) and not re.search(r"…|\[|h2\b", match[0]):
                yield " ".join(match[0].split())


def test_there_are_commands_in_the_pages() -> None:
    assert len(set(commands())) > 80


@pytest.mark.parametrize("line", dict.fromkeys(commands()))
def test_a_command_of_a_page_is_accepted(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the checks that a command performs before it starts anything."""
    program, *argv = (STANDS_FOR.get(word, word) for word in shlex.split(line.replace("=SUM", f"={'0' * 64}")))
    if not argv:
        return
    monkeypatch.chdir(tmp_path)
    secrets = tmp_path / "secrets.yml"
    secrets.write_text("cassandra: {cassandra.username: bench}\n")
    secrets.chmod(0o600)
    known_hosts = hosts_of(HOSTS)
    monkeypatch.setattr(cli, "_inventory", lambda name: (HOSTS, known_hosts) if name else (None, here()))
    for function in ("runner.run", "runner.resume", "preview.show_plan", "doctor.examine", "attachment.examine"):
        monkeypatch.setattr(f"dohyo.running.{function}", lambda *_, **__: 0)
    for function in (
        "cli._list",
        "cli.agree",
        "running.attachment.agree",
        "running.experiment.reopen",
        "output.make_last",
    ):
        monkeypatch.setattr(f"dohyo.{function}", lambda *_, **__: [type("", (), {"scenario": None})])
    if program.endswith("run.sh"):
        argv = ["run", *argv]
    if argv[0] == "run":
        assert not cli.cli.main(argv, prog_name="dohyo", standalone_mode=False)
    else:
        with contextlib.suppress(click.exceptions.Exit):  # --help exits
            cli.cli.make_context("dohyo", argv)
            cli.cli.commands[argv[0]].make_context("dohyo", argv[1:])


def test_a_hint_can_be_pasted_where_its_reader_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (ROOT, ROOT / "ansible", tmp_path):
        monkeypatch.chdir(folder)
        for program in (RUN, DOHYO):
            typed = ["bash", "-c", command(program, "--version")]
            done = subprocess.run(typed, check=False, capture_output=True, text=True)
            assert (done.returncode, done.stdout[:6]) == (0, "dohyo "), done.stderr
    monkeypatch.chdir(ROOT)
    assert command(SETUP, "page") == "./setup.sh page"
    monkeypatch.chdir("/")
    assert shown(RUN) == str(RUN)


def test_no_message_names_a_command_by_itself() -> None:
    """`places.command` writes all commands, so that users can paste them in any folder."""
    names = "|".join(cli.cli.commands)
    by_hand = re.compile(rf"(\./|^|[ `'])(run\.sh|setup\.sh|dohyo ({names}))\b")
    messages = []
    for file in tracked("analysis/dohyo"):
        if file.suffix != ".py" or file.name == "properties.py":  # properties.py writes a page of the documentation
            continue
        tree = ast.parse(file.read_text("utf-8"))
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        messages += [
            f"{file.name}:{node.lineno}: {node.value}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in texts and by_hand.search(node.value) and node.value not in ("run.sh", "setup.sh")
        ]
    assert messages == []
