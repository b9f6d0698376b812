"""The main job: the experiment's folder, the trials one after another, the progress display; and comparing two
experiments. It uses the other packages, and none of them imports it. It may import `dohyo.systems`, `dohyo.scenario`,
`dohyo.ansible`, `dohyo.planning`, `dohyo.evidence`, `dohyo.summary`, `dohyo.tables`, `dohyo.report` and
`dohyo.trial`.
"""
