"""The command line: parse, wire the parts, print, exit code."""
