"""Reading what a trial leaves in its folder of `results/<id>/raw`: the logs of clients and servers and the conductor's
records, in forms that can be added up. Whether they count is not judged here. It may import `dohyo.systems` and
`dohyo.scenario`.
"""
