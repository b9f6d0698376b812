"""Every link between the documents, and every `method.md#…` that the program names, leads somewhere."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dohyo.places import ROOT
from dohyo.scenario import loading


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [file for name in listed.stdout.split() if (file := ROOT / name).is_file()]


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in plain}


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_document_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
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
    results, files = [[name for name in named if name.startswith("results/") is kept] for kept in (True, False)]
    assert results == ["results/ID/raw"]
    assert len(files) > 20
    assert [name for name in files if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_files_that_are_there(page: Path) -> None:
    folders = "ansible|analysis|benchmarks|docs|examples|plugins|roles|tasks|workloads|ycsb-bindings"
    for name in re.findall(rf"`((?:{folders})/[\w./*-]+)`", page.read_text("utf-8")):
        # aws.yml makes inventories; the system of docs/adding-a-system.md is in examples/.
        pattern = re.sub(r"\b([A-Z]+|h2)\b", "*", name.rstrip("/"))
        assert "/aws-" in name or any(list((ROOT / at).glob(pattern)) for at in (".", "ansible")), name


# Words that documentation and messages of such software do without, and that have no meaning in code.
STILTED = re.compile(
    r"\b(can(not)? be had|could not be had|to be had|stands? in|(is|are|was|were) told|likewise|what there is|of which"
    r"|further ado|at the most|shall|in mid-run|come home|bears)\b",
    re.I,
)
PROGRAMS = ("*.py", "*.sh", "*.yml", "*.j2", "*.java", "workloads", "ansible/**/files/*", "ansible/testbed")


def stilted(page: Path) -> list[str]:
    return [match.group() for match in STILTED.finditer(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_usual_words(page: Path) -> None:
    assert stilted(page) == []


def test_messages_and_comments_use_the_usual_words() -> None:
    pages = [page for page in tracked(*PROGRAMS) if page != Path(__file__).resolve()]
    assert len(pages) > 500
    assert {str(page.relative_to(ROOT)): words for page in pages if (words := stilted(page))} == {}


def settings() -> list[str]:
    """Each `--set key=value` of the pages that has no placeholder, in the order of the pages."""
    spans = [
        span for page in tracked("*.md") for span in re.findall(r"`(--set [^`]+)`", page.read_text(encoding="utf-8"))
    ]
    return [span for span in dict.fromkeys(spans) if not re.search(r"[A-Z]{3}|…|=/|key=value|h2_|matrix", span)]


@pytest.mark.parametrize("span", settings())
def test_settings_of_a_page_can_be_made(span: str) -> None:
    words = [word for word in shlex.split(span) if word != "--set"]
    loading.load(loading.find("workloadA"), loading.overrides(words, {}))
