"""Checks that names and values that could be executed are rejected before anything starts, or written as data."""

import configparser
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped]
from ansible.template import Templar, trust_as_template  # type: ignore[import-untyped]

from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE
from dohyo.systems import catalogue
from dohyo.systems.context import Context
from dohyo.trial import certificates, processes
from dohyo.trial.clients import ClientOptions
from support.described import described
from support.playbooks import DEFAULTS
from support.scenarios import load

SMALL = "readproportion=1\nupdateproportion=0\nrecordcount=1000\noperationcount=1000\n"
ROLES = sorted({system.role for system in catalogue.all_systems().values()})


NASTY = [
    *("a`b", 'a"b', "a'b", "a\\b", "a;b", "a b", "a--b;", "a/*", "a#b", "a:b", "a,b", "a.b", "a\nb", "a\rb", "a\tb"),
    *("a\0b", "a\x1b[0m", "a\u2028b", "\u202eba", "é", "土", "a\u0301", "٣", "%s", "{{ 7*7 }}", "{% if 1 %}", "$(id)"),
    *("${x}", "`id`", "../x", "-a", "1a", "a" * 41, "="),
]


@pytest.mark.parametrize("value", NASTY)
def test_a_prefix_that_is_no_identifier_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(
        BadInputError, match=r"(?s)fieldnameprefix=.*(must be up to 40 of|contains the control character)"
    ):
        load(tmp_path, SMALL, f"fieldnameprefix={value}")
    with pytest.raises(BadInputError, match=r"(?s)matrix\.fieldnameprefix=.*(must be|contains the control character)"):
        load(tmp_path, SMALL, f"matrix.fieldnameprefix=a,{value}" if value != "a,b" else "matrix.fieldnameprefix=a,b;")


@pytest.mark.parametrize("value", ["f", "field", "_x", "a-b", "a" * 14])
def test_an_identifier_is_accepted_as_a_prefix_of_fields(value: str, tmp_path: Path) -> None:
    assert load(tmp_path, SMALL, f"fieldnameprefix={value}").client_properties["fieldnameprefix"] == value


def test_nothing_is_started_with_such_a_prefix(tmp_path: Path) -> None:
    (tmp_path / "small").write_text(SMALL)
    command = ["run", str(tmp_path / "small"), "--out", str(tmp_path / "out"), "--set", "fieldnameprefix=a`b"]
    program = Path(sys.executable).with_name("dohyo")
    result = subprocess.run([program, *command], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "fieldnameprefix=a`b" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_bin_of_aerospike_has_15_characters(tmp_path: Path) -> None:
    long = "fieldnameprefix=" + "a" * 15
    with pytest.raises(BadInputError, match=r"the name of an Aerospike bin has at most 15 characters"):
        load(tmp_path, SMALL, long)
    with pytest.raises(BadInputError, match="a" * 13 + "999, and the name"):
        load(tmp_path, SMALL, "fieldnameprefix=" + "a" * 13, "fieldcount=1000")
    load(tmp_path, SMALL, long, "aerospike.layout=packed=10")
    load(tmp_path, SMALL, long, "systems=cassandra,hbase,mysql-innodb")


@pytest.mark.parametrize(
    "assignment",
    [
        *(f"cassandra_keyspace={value}" for value in ["a`b", 'a"', "a;b", "A", "a.b", "", "a" * 49, "{{ 7*7 }}"]),
        *(f"{role}_address={value}" for role in ROLES for value in ["$(touch x)", "127.0.0.1;", "a\nb", "a b"]),
        "scylla_keyspace=a'b",
        "scylla_package_sha256=../../etc",
        "scylla_options=['--smp', \"1\\n2\"]",
        "cassandra_version=5.0.9</version>",
        "cassandra_version=../../x",
        "cassandra_heap=1g -XX:OnError=id",
        'cassandra_java_options=["-Da=b\\n-Dc"]',
        "hbase_family=a:b",
        "hbase_family=.a",
        "hbase_family=a/b",
        "hbase_heap=1g -Da",
        "hbase_settings={'hbase.rootdir': 'file:///srv'}",
        "hbase_settings={hbase.wal.dir: /srv}",
        "hbase_settings={fs.defaultFS: 'hdfs://other'}",
        "hbase_settings={hbase.ipc.server.fallback-to-simple-auth-allowed: true}",  # admits clients without tickets
        *(
            f"hbase_settings={{hbase.{name}: 0.0.0.0}}"
            for name in (
                "regionserver.ipc.address",
                "master.info.bindAddress",
                "master.port",
                "zookeeper.property.clientPort",
                "zookeeper.quorum",
            )
        ),
        "cassandra_settings={rpc_interface: eth0}",
        "scylla_settings={listen_interface: eth0}",
        "scylla_settings={data_file_directories: /srv}",
        'hbase_settings={a: "x\\0"}',
        "aerospike_namespace=a}",
        "aerospike_namespace=a:b",
        "aerospike_namespace=" + "a" * 32,
        'aerospike_devices=["/dev/a b"]',
        "aerospike_devices=['/dev/a}']",
        "aerospike_feature_key=/etc/f\n}",
        "aerospike_tls_name=a {",
        "mysql_version=11/..",
        "mysql_flush_method=a b",
        "mysql_settings={'a = 1 #': 1}",
        "mysql_settings={datadir: /srv/mysql}",
        *(
            f"mysql_settings={{{name}: 1}}"
            for name in ("port", "bind-address", "loose_BIND_address", "skip_grant_tables", "init-file", "user")
        ),
        *(f"postgresql_settings={{{name}: 1}}" for name in ("port", "listen_addresses")),
        "postgresql_settings={data_directory: /srv/postgresql}",
        "postgresql_settings={archive_command: 'id'}",
        "postgresql_settings={include_if_exists: /etc/passwd}",
        "postgresql_version=17/..",
        "mysql_settings={loose-INNODB-DATA-HOME-DIR: /srv/mysql}",
        'mysql_settings={a: "1\\n[client]"}',
    ],
)
def test_a_variable_of_a_role_that_would_be_taken_for_something_else_is_refused(
    assignment: str, tmp_path: Path
) -> None:
    name = assignment.partition("=")[0]
    with pytest.raises(BadInputError, match=f"(?s){name}=.*(must match|contains the control character)"):
        load(tmp_path, SMALL, assignment)
    # The same rule applies to inventories.
    value = assignment.partition("=")[2]
    role = next(role for role in ROLES if name.startswith(f"{role}_"))
    typed = yaml.safe_load(value) if catalogue.all_options()[name].type in ("list", "dict") else value
    assert catalogue.of_role(role).on(Context({name: typed})).misfits


@pytest.mark.parametrize(
    "assignment",
    [
        *(
            "cassandra_keyspace=ycsb_2",
            'cassandra_user=O\'Neil "x" \\',
            "hbase_family=f",
        ),
        *("aerospike_devices=[/dev/nvme0n1]", "aerospike_feature_key=", "cassandra_java_options=['-Da=b c']"),
        *(
            "mysql_settings={innodb_max_dirty_pages_pct: 10, loose-x: 'a # b'}",
            "mysql_settings={use_stat_tables: never, report_port: 1, skip_innodb_doublewrite: 1, Sort_buffer_size: 1}",
            "postgresql_settings={log_temp_files: 0}",
            "hbase_settings={a.b-c: '<&>'}",
        ),
        *("cassandra_address=::1", "scylla_cpuset=0-3,8", "aerospike_max_record_size=8M"),
    ],
)
def test_what_can_be_quoted_is_taken(assignment: str, tmp_path: Path) -> None:
    load(tmp_path, SMALL, assignment)


@pytest.mark.parametrize(
    "assignment",
    [
        *(f"cassandra_concurrent_reads={value}" for value in (-5, 10**9, 1.5)),
        *(f"mysql_buffer_pool={value}" for value in ("1x", "1gb", "", "-1g")),
        *(
            f"{name}=lots"
            for name in ("mysql_log_file", "postgresql_max_wal_size", "scylla_memory", "aerospike_data_size")
        ),
        *(f"cassandra_java_options={value}" for value in ("[a, {b: 1}]", "[[a]]", "[null]", "-Xss1m")),
        *(f"mysql_settings={value}" for value in ("{a: [1]}", "{a: null}", "x")),
        *(f"cassandra_cql_port={port}" for port in (0, 65536)),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_name(assignment: str, tmp_path: Path) -> None:
    """Covers values of --set. tests/systems/test_options.py covers inventories."""
    with pytest.raises(BadInputError) as refused:
        load(tmp_path, SMALL, assignment)
    assert f"{assignment}: " in str(refused.value)


def test_the_check_of_a_value_copies_none_of_ansibles_containers() -> None:
    """Copying such a container also copies all variables of the host. That once took most of the time of a check."""

    class Lazy(list[str]):
        def __deepcopy__(self, memo: object) -> "Lazy":
            raise AssertionError

    assert ClientOptions.of({"client_java_options": Lazy(["-ea"])}).java_options == ["-ea"]
    with pytest.raises(BadInputError, match="three"):
        ClientOptions.of({"client_java_options": Lazy(["three", ["four"]])})  # type: ignore[list-item]
    system = catalogue.of_role("cassandra").on(Context({"cassandra_java_options": Lazy(["-ea"])}))
    assert (list(system.misfits), system.values["cassandra_java_options"]) == ([], ["-ea"])


@pytest.mark.slow
def test_the_folders_of_playbook_and_inventory_are_no_templates(tmp_path: Path) -> None:
    """Folders of checkouts and inventories may be named like templates, and some variables are resolved twice."""
    ansible, inventory = tmp_path / "{{ 7*7 }}/ansible", tmp_path / "{{ 8*8 }} 'a'"
    for folder in (ansible, inventory):
        folder.mkdir(parents=True)
    once = {name: DEFAULTS[name] for name in ("dohyo_playbook", "dohyo_program")}
    once["certificates"] = "{{ playbook_dir }}/tls/{{ inventory_dir | basename }}"
    twice = {f"{name}_twice": f"{{{{ [{name}] | first }}}}" for name in once}
    everywhere = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **once, **twice}
    (inventory / "hosts.yml").write_text(yaml.safe_dump({"all": {"vars": everywhere, "hosts": {"one": {}}}}))
    answer = {name: f"{{{{ {name} }}}}" for name in (*once, *twice)}
    tasks = [
        {"set_fact": {"answer": answer}},
        {"copy": {"content": "{{ answer }}", "dest": "{{ playbook_dir }}/answer"}},
    ]
    (ansible / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    program = Path(sys.executable).with_name("ansible-playbook")
    command: list[str | Path] = [program, "-i", inventory, ansible / "play.yml"]
    run = subprocess.run(command, cwd=ANSIBLE, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    variables = json.loads((ansible / "answer").read_text("utf-8"))
    assert shlex.split(variables["dohyo_playbook"])[1:] == ["-i", str(inventory)]
    assert variables["dohyo_program"] == f"{ansible.parent}/.venv/bin/dohyo"
    assert variables["certificates"] == f"{ansible}/tls/{inventory.name}"
    assert all(variables[f"{name}_twice"] == variables[name] for name in once)


# ---- configuration files --------------------------------------------------------------------------------------------

FOLDER = "/srv/a b#'\"\\é<&>;%h"
SETTINGS = {"init_connect": "SET @a = 'x # y' \\ \"z\";", "plain": 5}
HOSTILE_TEXT = "a'b\\c\"; DROP USER root@localhost; -- #"
LOOKED = {
    "product": "MariaDB",
    "version": "11.4.5",
    "basedir": FOLDER,
    "tables": [],
    "name": "nobody",
    "uid": 1,
    "gid": 1,
    "change": True,
}
SYSTEMS: dict[str, dict[str, Any]] = {
    "mysql-innodb": {"mysql_settings": SETTINGS, "states": {"node1": {"found": LOOKED}}},
    "postgresql": {"postgresql_settings": SETTINGS, "states": {"node1": {"found": LOOKED}}},
    "cassandra": {"cassandra_tls": True},
    "scylla": {
        "states": {
            "node1": {
                "looked": {"stdout": f"{FOLDER}/bin/scylla"},
                "node": {"address": "127.0.0.1", "cql": 1, "storage": 2, "shard": 3, "api": 4, "prometheus": 5},
            }
        }
    },
    "hbase": {"hbase_distributed": True, "system_native": {"stdout": "/lib"}, "hbase_settings": {"a<b": "x&y\"]]><z'"}},
}


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Returns all configuration files by name. The folders, settings and passwords in them are hostile texts."""
    contents: dict[str, str] = {}
    everywhere: dict[str, Any] = {
        "dohyo_home": FOLDER,
        "dohyo_data": [FOLDER],
        "passwords": {"client": HOSTILE_TEXT, "replica": HOSTILE_TEXT},
    }
    for name, variables in SYSTEMS.items():
        system = described(name, **everywhere, **variables)
        files = {file.path.rpartition("/")[2]: file.content for file in [*system.files, *system.secret_files]}
        contents = files | contents
    return contents


def test_my_cnf_keeps_values_in_quotes(written: dict[str, str]) -> None:
    parser = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    parser.read_string(written["my.cnf"])
    values = parser["server"]
    assert unquoted(values["datadir"]) == f"{FOLDER}/dohyo/mysql/data"
    assert unquoted(values["tmpdir"]) == f"{FOLDER}/dohyo/mysql/tmp"
    assert unquoted(values["basedir"]) == FOLDER
    assert unquoted(values["innodb_log_group_home_dir"]) == f"{FOLDER}/dohyo/mysql/log"
    assert unquoted(values["init_connect"]) == SETTINGS["init_connect"]
    assert unquoted(values["plain"]) == "5"


def test_postgresql_conf_keeps_values_in_quotes(written: dict[str, str]) -> None:
    """In PostgreSQL, quotes are doubled, and backslashes escape characters ("Setting Parameters" in its manual)."""
    values = dict(line.split(" = ", 1) for line in written["postgresql.conf"].splitlines() if " = " in line)
    for name, value in {"data_directory": f"{FOLDER}/dohyo/postgresql/data", **SETTINGS}.items():
        text = values[name]
        assert text[0] == text[-1] == "'"
        assert text[1:-1].replace("''", "'").replace("\\\\", "\\") == str(value)


def unquoted(value: str | None) -> str:
    """Returns an option as MySQL reads it. In quotes, backslashes escape ("Using Option Files" in its manual)."""
    assert value is not None
    assert value[0] == value[-1] == '"'
    plain = ""
    rest = iter(value[1:-1])
    for character in rest:
        assert character != '"'
        plain += next(rest) if character == "\\" else character
    return plain


def test_a_password_in_sql_is_one_literal(written: dict[str, str]) -> None:
    [line] = [line for line in written["init.sql"].splitlines() if line.startswith("CREATE USER")]
    expected = r"""IDENTIFIED BY 'a\'b\\c"; DROP USER root@localhost; -- #';"""
    assert line == f"CREATE USER IF NOT EXISTS dohyo@'%' {expected}"


def test_yaml_reads_back_folders(written: dict[str, str]) -> None:
    cassandra = yaml.safe_load(written["cassandra.yaml"])
    assert cassandra["data_file_directories"] == [f"{FOLDER}/dohyo/cassandra/data"]
    assert cassandra["commitlog_directory"] == f"{FOLDER}/dohyo/cassandra/commitlog"
    assert cassandra["client_encryption_options"]["keystore"] == f"{FOLDER}/secret/tls/host.pem"
    assert cassandra["listen_address"] == "10.0.0.1"
    assert cassandra["seed_provider"][0]["parameters"] == [{"seeds": "10.0.0.1:7000"}]
    scylla = yaml.safe_load(written["scylla.yaml"])
    assert scylla["workdir"] == f"{FOLDER}/dohyo/scylla"
    assert scylla["api_ui_dir"] == f"{FOLDER}/swagger-ui/dist/"


def test_xml_reads_back_folders_and_settings(written: dict[str, str]) -> None:
    sites = {
        name: {
            item.findtext("name"): item.findtext("value")
            for item in ElementTree.fromstring(written[f"{name}-site.xml"]).iter("property")  # noqa: S314 (Dohyo's own)
        }
        for name in ("hbase", "core", "hdfs")
    }
    assert sites["hbase"]["a<b"] == "x&y\"]]><z'"
    assert sites["hbase"]["hbase.tmp.dir"] == f"{FOLDER}/dohyo/hbase/tmp"
    assert sites["core"]["hadoop.tmp.dir"] == f"{FOLDER}/dohyo/hbase/tmp"
    assert sites["core"]["fs.defaultFS"] == "hdfs://10.0.0.1:8020"
    assert sites["hdfs"]["dfs.domain.socket.path"] == f"{FOLDER}/dohyo/hbase/datanode.socket"


def test_a_version_stays_one_in_the_pom() -> None:
    version = "1</version><b>"
    variables = {
        "service_jars_name": "x",
        "service_jars_version": version,
        "service_jars_artifacts": [f"org.example:x:{version}"],
    }
    template = (ANSIBLE / "roles/service/templates/pom.xml.j2").read_text("utf-8")
    text = Templar(DataLoader(), variables=variables).template(trust_as_template(template))
    pom = ElementTree.fromstring(text)  # noqa: S314 (Dohyo's own)
    versions = pom.iter("{http://maven.apache.org/POM/4.0.0}version")
    assert [element.text for element in versions][:2] == [version, version]


def test_properties_keep_folders(written: dict[str, str]) -> None:
    zookeeper = next(line for line in written["zoo.cfg"].splitlines() if line.startswith("dataDir="))
    assert zookeeper.removeprefix("dataDir=").replace("\\\\", "\\") == f"{FOLDER}/dohyo/hbase/zookeeper"


def test_units_keep_folders_and_arguments() -> None:
    command = ["/bin/x", 'A=b "c" %h', "$HOME"]
    text = processes.unit(
        "x", FOLDER, command, log="log", writes=[f"{FOLDER}/data"], devices=[], capabilities=[],
        stop_seconds=1, slice_="", cpus="", open_files=1024,
    )  # fmt: skip
    unit = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    assert unit["WorkingDirectory"].replace("%%", "%") == FOLDER
    paths = shlex.split(unit["ReadWritePaths"].replace("%%", "%"))
    assert paths == [FOLDER, f"{FOLDER}/data"]
    assert '"A=b \\"c\\" %%h" "$$HOME"' in unit["ExecStart"]
    # In double quotes, shlex and systemd treat backslashes in the same way.
    command_line = shlex.split(unit["ExecStart"].replace("%%", "%").replace("$$", "$"))
    assert command_line == ["/bin/sh", "-c", 'exec "$@" > "$0" 2>&1', f"{FOLDER}/log", *command]


def test_a_host_with_the_name_of_the_authority_replaces_no_certificate(tmp_path: Path) -> None:
    """The certificate of the authority is copied to all hosts, where all users may read it."""
    authority = certificates.make(tmp_path, {"ca": ["10.0.0.1"]})
    assert "PRIVATE KEY" not in (tmp_path / "ca.pem").read_text()
    assert certificates.make(tmp_path, {"ca": ["10.0.0.1"]}) == authority
