"""The main job: the experiment's folder, one trial after the other, what people see meanwhile. It brings the other
packages together and may import all of them; none of them imports it.
"""
