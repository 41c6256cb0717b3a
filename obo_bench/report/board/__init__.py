"""The live board: how a run stands, drawn in place on a terminal."""
