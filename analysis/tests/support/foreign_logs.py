"""Creates logs of other YCSB clients."""

from pathlib import Path

from dohyo.foreign import collection
from dohyo.summary.results import Summary


def collect(folders: list[Path]) -> Summary:
    return collection.collect(folders).summary


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


GO = """\
***************** properties *****************
"threadcount"="8"
"recordcount"="1000"
"dotransactions"="true"
"readproportion"="0.5"
"updateproportion"="0.5"
**********************************************
READ   - Takes(s): 10.0, Count: 125, OPS: 12.5, Avg(us): 2282, Min(us): 544, Max(us): 12510, 99th(us): 5000, \
99.9th(us): 13000, 99.99th(us): 13000
UPDATE - Takes(s): 9.4, Count: 110, OPS: 11.8, Avg(us): 693974, Min(us): 464331, Max(us): 1023933, 99th(us): 1020000, \
99.9th(us): 1024000, 99.99th(us): 1024000
Run finished, takes 44.39704297s
READ   - Takes(s): 44.4, Count: 517, OPS: 11.6, Avg(us): 3331, Min(us): 455, Max(us): 271100, 99th(us): 11000, \
99.9th(us): 272000, 99.99th(us): 272000
UPDATE - Takes(s): 43.8, Count: 483, OPS: 11.0, Avg(us): 646926, Min(us): 421447, Max(us): 1283542, 99th(us): 0, \
99.9th(us): 0, 99.99th(us): 0
"""
