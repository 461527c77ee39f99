"""From the program's answer to changes of nodes, priced and explained."""
