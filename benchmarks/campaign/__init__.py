"""The campaign of `benchmarks/chaos.py`: kills, damage and hostile input, and the checks of how commands end.

``case``      what is tried, what came out of it, and its random numbers
``warm``      a warm interpreter that forks a process for every command, so that a command starts at once
``processes`` commands as processes: started, watched, interrupted, killed
``checks``    what is wrong with how a command ended
``snapshots`` the files of a folder before and after a command
``fixtures``  the small runs and results that cases begin with
``context``   one case: its folder, its commands, its findings
``hostile``   values, JSON and bytes that nobody should have to expect
``kinds``     one module per kind of case
``pool``      the threads that work through the cases
``report``    what is printed
"""
