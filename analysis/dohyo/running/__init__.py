"""The main job: the experiment's folder, one trial after the other, what people see meanwhile; and two experiments side
by side. It brings the others together, and none of them imports it. It may import `dohyo.scenario`, `dohyo.ansible`,
`dohyo.planning`, `dohyo.evidence`, `dohyo.summary`, `dohyo.tables` and `dohyo.report`.
"""
