"""The patterns of mistakes, one file each.

Each looks at one step of a slice, and names what is wrong with it or says nothing.  A pattern accuses only where the
step cannot be right: what is merely unusual is none.
"""
