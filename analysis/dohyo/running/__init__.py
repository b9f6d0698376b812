"""The main job: the experiment's folder, one trial after the other, the progress display; and two experiments side by
side. It uses the other packages; none of them imports it. It may import `dohyo.systems`, `dohyo.scenario`,
`dohyo.ansible`, `dohyo.planning`, `dohyo.evidence`, `dohyo.summary`, `dohyo.tables` and `dohyo.report`.
"""
