"""Who acts: six workers, the gateway at the edge, and the command line."""
