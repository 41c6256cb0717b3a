"""What every benchmark run needs: the seam, the record, the gates. Knows no benchmark, engine or server."""
