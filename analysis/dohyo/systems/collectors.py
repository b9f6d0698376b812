"""Named sets of options for the JVM's garbage collectors (docs/versions.md#collectors)."""

from __future__ import annotations

from dohyo.systems.records import Jvm

_CMS = (
    "-XX:+CMSParallelRemarkEnabled",
    "-XX:SurvivorRatio=8",
    "-XX:MaxTenuringThreshold=1",
    "-XX:CMSInitiatingOccupancyFraction=75",
    "-XX:+UseCMSInitiatingOccupancyOnly",
    "-XX:CMSWaitDuration=10000",
    "-XX:+CMSParallelInitialMarkEnabled",
    "-XX:+CMSEdenChunksRecordAlways",
    "-XX:+CMSClassUnloadingEnabled",
)
_G1 = (
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=300",
    "-XX:InitiatingHeapOccupancyPercent=70",
    "-XX:G1RSetUpdatingPauseTimePercent=5",
)
_LOG_OF_JDK_8 = (
    *("-Xloggc:gc.log", "-XX:+PrintGCDetails", "-XX:+PrintGCDateStamps", "-XX:+PrintGCApplicationStoppedTime"),
    *("-XX:+UseGCLogFileRotation", "-XX:NumberOfGCLogFiles=4", "-XX:GCLogFileSize=20M"),
)
_LOG = ("-Xlog:gc*,safepoint:file=gc.log:time,uptime:filecount=4,filesize=20M",)


def options_of(jvm: Jvm, cores: int, *, huge_pages: bool) -> list[str]:
    """Returns the options for a JVM's collector and for the collector's log.

    :param cores: number of processors of the server
    :param huge_pages: true if a process can get transparent huge pages
    """
    jdk, name = jvm.jdk, jvm.gc
    log = _LOG_OF_JDK_8 if jdk < 9 else _LOG  # JEP 158
    if name == "default":
        return [*jvm.gc_default, *log]
    threads = jvm.gc_threads or min(cores, 8)
    options = _choice(jdk, name)
    options.append(f"-XX:ParallelGCThreads={threads}")
    if name != "Parallel":
        options.append(f"-XX:ConcGCThreads={threads}")
    if name in ("ZGC", "Shenandoah") and huge_pages:
        options.append("-XX:+UseTransparentHugePages")
    return [*options, *log]


def _choice(jdk: int, name: str) -> list[str]:
    """Returns the options that select a collector, and the ones that tune it."""
    if name == "CMS":
        return ["-XX:+UseConcMarkSweepGC", *(["-XX:+UseParNewGC"] if jdk < 11 else []), *_CMS]
    if name == "G1":
        return [*_G1]
    if name == "Parallel":
        return ["-XX:+UseParallelGC"]
    # ZGC and Shenandoah are experimental before JDK 15.
    options = ["-XX:+UnlockExperimentalVMOptions"] if jdk < 15 else []
    options.append(f"-XX:+Use{name if name == 'ZGC' else 'ShenandoahGC'}")
    # Since JDK 23, ZGC is generational by default.
    return [*options, *(["-XX:+ZGenerational"] if name == "ZGC" and 21 <= jdk < 23 else [])]
