"""Credit: what each candidate is worth against the candidates it is compared with. Pure: no torch, no I/O.

    Episode -> rewards (mix team and local) -> grouping (compared with whom) -> advantages -> Row        assign.rows

Read in that order: `rewards.py`, `grouping.py`, `advantages.py`, `assign.py`. The formulas are in docs/credit.md.
"""
