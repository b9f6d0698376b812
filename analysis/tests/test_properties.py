"""Tests that property files are read as Java reads them, and that each value is checked."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dohyo.bad_input import BadInputError
from dohyo.places import ROOT
from dohyo.scenario import properties
from dohyo.scenario.property_types import ExistingFile, Property, Refused


def test_escapes_and_separators_of_java_properties_are_read(tmp_path: Path) -> None:
    file = tmp_path / "scenario"
    file.write_text(
        "# comment\n! comment\n\n  indented = 1 \ncolon:2\nblank 3\nnone\nlong=a,\\\n   b\n"
        "key\\ with\\=signs=x\nescaped=\\u00e9\\t\\\\\n",
        encoding="utf-8",
    )
    assert properties.read(file) == {
        "indented": "1", "colon": "2", "blank": "3", "none": "", "long": "a,b", "key with=signs": "x",
        "escaped": "é\t\\",
    }  # fmt: skip


def test_a_key_given_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    file = tmp_path / "scenario"
    file.write_text("recordcount=1\nx=2\nrecordcount=3\n")
    with pytest.raises(BadInputError, match="recordcount is set twice, in lines 1 and 3"):
        properties.read(file)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=f"cannot read the property file {tmp_path / 'missing'}"):
        properties.read(tmp_path / "missing")


_text = st.text(st.characters(codec="utf-8", exclude_categories=["Zl", "Zp", "Cc"]) | st.sampled_from("\t\n\\=: #!"))


@given(st.dictionaries(_text.filter(bool), _text.map(str.strip)))
def test_what_is_written_is_read_back(values: dict[str, str]) -> None:
    # hypothesis calls this function many times, but pytest's tmp_path would be the same folder each time.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario"
        file.write_text(properties.write(values, "comment"), encoding="utf-8")
        assert properties.read(file) == values


@pytest.mark.parametrize(
    ("key", "value", "checked"),
    [
        ("recordcount", "100k", "100000"),
        ("recordcount", " 5M ", "5000000"),
        ("recordcount", "3000000000", "3000000000"),
        ("duration", "60s", "60"),
        ("duration", "5m", "300"),
        ("duration", "2h", "7200"),
        ("duration", "90", "90"),
        ("target", "0.5", "0.5"),
        ("readbeforewrite", "TRUE", "true"),
        ("client_heap", "2G", "2g"),
        ("systems", "cassandra , hbase", "cassandra,hbase"),
    ],
)
def test_values_are_normalised(key: str, value: str, checked: str) -> None:
    assert properties.known()[key].check(value) == checked


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("batchsize", "0", "from 1 to 100000"),
        ("target", "-1", "from 0 to"),
        ("target", "nan", "a number from 0"),
        ("threadcount", "eight", "a whole number from 1"),
        ("threadcount", "1_000", "a whole number from 1"),
        ("threadcount", "٣", "a whole number from 1"),
        ("threadcount", "", "a whole number from 1"),
        ("recordcount", "99999999999999999999", "a whole number from 1"),
        ("duration", "5 minutes", "60s, 5m or 2h"),
        ("duration", "1d", "60s, 5m or 2h"),
        ("readbeforewrite", "yes", "true or false"),
        ("requestdistribution", "zipf", "uniform, zipfian, latest"),
        ("fieldlengthhistogram", "no-such-file", "name of a file that exists"),
        ("client_heap", "512", "such as 512m"),
        ("systems", "hbase,", "names separated by commas"),
        ("exportfile", "x.txt", "a scenario cannot set it, because"),
    ],
)
def test_bad_values_name_key_value_and_range(key: str, value: str, expected: str) -> None:
    with pytest.raises(BadInputError) as error:
        properties.known()[key].check(value)
    assert f"{key}={value}: " in str(error.value)
    assert expected in str(error.value)


@given(st.sampled_from(sorted(properties.known())), st.text())
def test_any_text_is_a_value_or_bad_input(key: str, value: str) -> None:
    try:
        once = properties.known()[key].check(value)
    except BadInputError:
        return
    assert properties.known()[key].check(once) == once


@pytest.mark.parametrize("entry", properties.known().values(), ids=lambda entry: entry.key)
def test_defaults_are_valid(entry: Property) -> None:
    if entry.default is not None and not isinstance(entry.type, ExistingFile):
        assert entry.check(entry.default) == entry.default


def test_the_reference_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "properties.md").read_text(encoding="utf-8")
    assert page == properties.reference(), "update it: ./dohyo properties > docs/properties.md"
    listed = {key for key in properties.known() if f"| `{key}` |" in page}
    refused = {key for key, entry in properties.known().items() if isinstance(entry.type, Refused)}
    assert listed == properties.known().keys() - refused
