"""Reading what a trial leaves in its folder of `results/<id>/raw`: the logs of clients and servers and what conducting
them saw, in forms that add up. Whether it counts is not judged here. It may import `dohyo.scenario`.
"""
